import type { AddressInfo, Server, Socket } from "node:net";
import { KodaError, reasonOf } from "../../errors.ts";
import { isLoopback } from "../rules/host.ts";
import type { WayOut } from "../wayout.ts";
import { defaultProxyLimits, Flows, type ProxyLimits } from "./flows.ts";
import { createHttpProxy } from "./http.ts";
import type { Admission, Gateway } from "./openflow.ts";
import { isOwnClient } from "./peer.ts";
import { createSocksProxy } from "./socks5.ts";

export type ProxyOptions = WayOut & { limits?: Partial<ProxyLimits> };

/** A socket that listens already, or an address to listen at; with port 0 the kernel chooses one. */
type ListenAddress = { fd: number } | { host: string; port: number };
export type ListenAddresses = { http: ListenAddress; socks: ListenAddress };

/** The ports. Disposal leaves the connections that were accepted there. */
export type Listening = { http: number; socks: number } & Disposable;

/** The two proxies of a session, through which its commands reach hosts. */
export class EgressProxies implements AsyncDisposable {
  readonly #gateway: Gateway;
  readonly #servers = new Set<Server>();
  readonly #clients = new Set<Socket>();

  constructor({ limits, ...wayOut }: ProxyOptions) {
    const chosen = { ...defaultProxyLimits, ...limits };
    this.#gateway = { ...wayOut, limits: chosen, flows: new Flows(chosen) };
  }

  /** The number of tunnels and requests under way. */
  get flows(): number {
    return this.#gateway.flows.size;
  }

  /** Listens at further addresses, with the same rules and limits for all of them. */
  async listen({ http, socks }: ListenAddresses): Promise<Listening> {
    const servers = {
      http: createHttpProxy(this.#gateway, admissionAt(http)),
      socks: createSocksProxy(this.#gateway, admissionAt(socks)),
    };
    return {
      http: await this.#open(servers.http, http),
      socks: await this.#open(servers.socks, socks),
      [Symbol.dispose]: () => {
        for (const server of Object.values(servers)) {
          this.#servers.delete(server);
          server.close();
        }
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = [...this.#servers].map((server) => new Promise((resolve) => server.close(resolve)));
    this.#gateway.flows[Symbol.dispose]();
    for (const client of this.#clients) client.destroy();
    await Promise.all(closed);
  }

  async #open(server: Server, address: ListenAddress): Promise<number> {
    server.on("connection", (client) => {
      this.#clients.add(client);
      client.once("close", () => this.#clients.delete(client));
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(address, resolve);
    try {
      await promise;
    } catch (error) {
      const where = "fd" in address ? `descriptor ${address.fd}` : `${address.host}:${address.port}`;
      throw new KodaError("sandbox", `The egress proxy cannot listen on "${where}": ${reasonOf(error)}`, {
        cause: error,
      });
    }
    // A connection that cannot be accepted (too many files are open) fails alone: the listener stays.
    server.on("error", () => {});
    this.#servers.add(server);
    return portOf(server.address());
  }
}

/**
 * Clients are checked on loopback. In a network of the commands' own there are no others; and at any other address the
 * user has let the network in.
 */
function admissionAt(address: ListenAddress): Admission {
  return "host" in address && isLoopback(address.host) ? isOwnClient : () => true;
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
