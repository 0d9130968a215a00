import type { Socket } from "node:net";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { errnoOf, messageOf } from "../../errors.ts";
import { authorityOf } from "../rules/authority.ts";
import { quoted, type HostPort } from "../rules/host.ts";
import { connectThrough, SocksRefusal } from "../socks/client.ts";
import { dial } from "./dial.ts";
import { proxyName, type UpstreamProxy } from "./upstream.ts";

/** The user's own proxy could not be reached, or refused. */
export class UpstreamFailure extends Error {
  constructor(proxy: UpstreamProxy, problem: string) {
    super(`the upstream proxy ${proxyName(proxy)} ${problem}`);
  }
}

/** A connection to a target through the user's own proxy, which is given the name and looks it up. */
export async function chain(target: HostPort, proxy: UpstreamProxy, signal: AbortSignal): Promise<Socket> {
  const socket = await connectToProxy(proxy, signal);
  const giveUp = () => socket.destroy();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return proxy.protocol === "socks5"
      ? await throughSocks(target, proxy, socket)
      : await throughConnect(target, proxy, socket);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** A connection to the proxy itself. */
export async function connectToProxy(proxy: UpstreamProxy, signal: AbortSignal): Promise<Socket> {
  const place = { addresses: [proxy.host], port: proxy.port };
  const socket = await dial(place, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new UpstreamFailure(proxy, `cannot be reached (${errnoOf(error) ?? quoted(messageOf(error))})`);
  });
  return proxy.protocol === "https" ? await secured(socket, proxy, signal) : socket;
}

async function secured(socket: Socket, proxy: UpstreamProxy, signal: AbortSignal): Promise<Socket> {
  const { connect } = await import("node:tls");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const secure = connect(
    { socket, host: proxy.host, servername: /[a-z]/i.test(proxy.host) ? proxy.host : "" },
    resolve,
  );
  secure.on("error", (error) => {
    reject(new UpstreamFailure(proxy, `offers no trusted TLS (${errnoOf(error) ?? quoted(error.message)})`));
  });
  try {
    await unlessAborted(promise, signal);
    return secure;
  } catch (error) {
    secure.destroy();
    throw error;
  }
}

async function throughConnect(target: HostPort, proxy: UpstreamProxy, socket: Socket): Promise<Socket> {
  const { request } = await import("node:http");
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const authority = authorityOf(target);
  const asking = request({
    createConnection: () => socket,
    method: "CONNECT",
    path: authority,
    headers: ["Host", authority, ...authorization(proxy), "Connection", "keep-alive"],
    setHost: false,
  });
  asking.on("connect", ({ statusCode = 0 }, connection, head) => {
    if (statusCode < 200 || statusCode > 299) return reject(new UpstreamFailure(proxy, answered(statusCode)));
    if (head.length > 0) connection.unshift(head);
    resolve(socket);
  });
  asking.on("response", ({ statusCode = 0 }) => reject(new UpstreamFailure(proxy, answered(statusCode))));
  asking.on("error", (error) => {
    reject(new UpstreamFailure(proxy, `broke off (${errnoOf(error) ?? quoted(error.message)})`));
  });
  asking.end();
  return await promise;
}

function answered(status: number): string {
  return status === 407 ? "wants other credentials (it answered 407)" : `refused (it answered ${status})`;
}

/** The credentials for an HTTP proxy, as raw headers. */
export function authorization({ user, password }: UpstreamProxy): string[] {
  if (user === undefined) return [];
  return ["Proxy-Authorization", `Basic ${Buffer.from(`${user}:${password ?? ""}`).toString("base64")}`];
}

async function throughSocks(target: HostPort, proxy: UpstreamProxy, socket: Socket): Promise<Socket> {
  const { user, password = "" } = proxy;
  try {
    await connectThrough(socket, target, user === undefined ? undefined : { user, password });
    return socket;
  } catch (error) {
    const problem = error instanceof SocksRefusal ? error.message : `broke off (${quoted(messageOf(error))})`;
    throw new UpstreamFailure(proxy, problem);
  }
}
