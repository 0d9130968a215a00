import type { AddressInfo, Server, Socket } from "node:net";
import { KodaError, reasonOf } from "../../errors.ts";
import type { Upstream } from "../route/upstream.ts";
import type { Resolver } from "../rules/resolve.ts";
import type { EgressRules } from "../rules/rules.ts";
import type { EgressRequest } from "../wayout.ts";
import { Flows, defaultProxyLimits, type ProxyLimits } from "./flows.ts";
import type { Gateway } from "./gateway.ts";
import { createHttpProxy } from "./http.ts";
import { createSocksProxy } from "./socks5.ts";

export type ProxyOptions = {
  rules: EgressRules;
  resolver?: Resolver;
  upstream?: Upstream;
  limits?: Partial<ProxyLimits>;
  onRequest(request: EgressRequest): void;
};

/** Where to listen: on a socket that listens already, or where the kernel is asked to; with port 0 it chooses one. */
export type ListenAddress = { fd: number } | { host: string; port: number };
export type ListenAddresses = { http: ListenAddress; socks: ListenAddress };
export type ProxyPorts = { http: number; socks: number };
/** Closing it leaves the connections that were accepted there. */
export type Listening = ProxyPorts & Disposable;

/** The two proxies of a session: what its commands reach, they reach through these. */
export class EgressProxies implements AsyncDisposable {
  readonly #gateway: Gateway;
  readonly #servers = new Set<Server>();
  readonly #clients = new Set<Socket>();
  #ports: ProxyPorts = { http: 0, socks: 0 };

  private constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** Ready to listen. */
  static create({ limits, ...options }: ProxyOptions): EgressProxies {
    const chosen = { ...defaultProxyLimits, ...limits };
    return new EgressProxies({
      rules: options.rules,
      resolver: options.resolver,
      upstream: options.upstream,
      limits: chosen,
      flows: new Flows(chosen),
      onRequest: (request) => options.onRequest(request),
    });
  }

  static async open(options: ProxyOptions, places: ListenAddresses): Promise<EgressProxies> {
    const proxies = EgressProxies.create(options);
    try {
      proxies.#ports = await proxies.listen(places);
      return proxies;
    } catch (error) {
      await proxies[Symbol.asyncDispose]();
      throw error;
    }
  }

  get httpPort(): number {
    return this.#ports.http;
  }

  get socksPort(): number {
    return this.#ports.socks;
  }

  /** Tunnels and requests under way. */
  get flows(): number {
    return this.#gateway.flows.size;
  }

  /** Listens in more places, with the same rules and limits. */
  async listen({ http, socks }: ListenAddresses): Promise<Listening> {
    const servers = { http: createHttpProxy(this.#gateway), socks: createSocksProxy(this.#gateway) };
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

  async #open(server: Server, place: ListenAddress): Promise<number> {
    server.on("connection", (client) => {
      this.#clients.add(client);
      client.once("close", () => this.#clients.delete(client));
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(place, resolve);
    try {
      await promise;
    } catch (error) {
      const where = "fd" in place ? `descriptor ${place.fd}` : `${place.host}:${place.port}`;
      throw new KodaError("sandbox", `The egress proxy cannot listen on "${where}": ${reasonOf(error)}`, {
        cause: error,
      });
    }
    // A connection that cannot be accepted (too many files are open) is that client's trouble: the listener stays.
    server.on("error", () => {});
    this.#servers.add(server);
    return portOf(server.address());
  }
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
