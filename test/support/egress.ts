import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { ProxyLimits } from "../../lib/egress/proxy/flows.ts";
import { EgressProxies, type ProxyOptions } from "../../lib/egress/proxy/proxy.ts";
import { parseRules } from "../../lib/egress/rules/rules.ts";
import type { EgressRequest } from "../../lib/egress/wayout.ts";
import { until } from "./until.ts";

/** A server on loopback that treats every connection as the test wants. */
export type Origin = AsyncDisposable & { port: number; connections: Set<Socket> };

export async function startOrigin(serve: (socket: Socket) => void): Promise<Origin> {
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    socket.on("error", () => {});
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    connections,
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Gives back what it gets, and ends when it is told the end. */
export const echo = (socket: Socket) => void socket.pipe(socket);

export type Opened = AsyncDisposable & { proxies: EgressProxies & Ports; requests: EgressRequest[] };

/** Proxies that allow `origin.test` with the given ports, which is this machine. */
export async function openProxies(
  ports: readonly number[],
  options: Partial<Omit<ProxyOptions, "limits">> & { limits?: Partial<ProxyLimits>; allow?: string[] } = {},
): Promise<Opened> {
  const { allow = [], ...rest } = options;
  const requests: EgressRequest[] = [];
  const hosts = ports.flatMap((port) => [`origin.test:${port}`, `127.0.0.1:${port}`]);
  const proxies = new EgressProxies({
    rules: parseRules({ mode: "allowlist", allow: [...hosts, ...allow], deny: [] }),
    resolver: async () => ["127.0.0.1"],
    onRequest: (request) => requests.push(request),
    ...rest,
  });
  const here = { host: "127.0.0.1", port: 0 };
  const { http, socks } = await proxies.listen({ http: here, socks: here });
  return {
    proxies: Object.assign(proxies, { httpPort: http, socksPort: socks }),
    requests,
    [Symbol.asyncDispose]: () => proxies[Symbol.asyncDispose](),
  };
}

/** The ports of a pair of proxies. */
export type Ports = { httpPort: number; socksPort: number };

/** What a proxy was asked for, and what it said; `socket` goes on where that ended. */
export type Reply = { said: Buffer; socket: Socket };

/** One way to open a tunnel, for tests that hold for both. */
export type Way = {
  name: string;
  port(proxies: Ports): number;
  /** Everything the client says up to the tunnel. */
  hello(host: string, port: number): Buffer[];
  /** Whether this much of an answer is the whole of it, and whether it is a yes. */
  isWhole(said: Buffer): boolean;
  isYes(said: Buffer): boolean;
};

export const connectWay: Way = {
  name: "CONNECT",
  port: (proxies) => proxies.httpPort,
  hello: (host, port) => [Buffer.from(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)],
  isWhole: (said) => said.includes("\r\n\r\n"),
  isYes: (said) => /^HTTP\/1\.[01] 200 /.test(said.toString("latin1")),
};

export const socksWay: Way = {
  name: "SOCKS5",
  port: (proxies) => proxies.socksPort,
  hello: (host, port) => [Buffer.of(5, 1, 0), socksRequest(host, port)],
  isWhole: (said) => said.length >= 12,
  isYes: (said) => said[3] === 0,
};

export const ways: readonly Way[] = [connectWay, socksWay];

export function socksRequest(host: string, port: number, command = 1): Buffer {
  const name = Buffer.from(host, "latin1");
  return Buffer.concat([Buffer.of(5, command, 0, 3, name.length), name, Buffer.of(port >> 8, port & 0xff)]);
}

/** Says hello, then `early` in the same breath; the reply is read byte-exact, so that `socket` begins with the tunnel. */
export async function ask(
  way: Way,
  proxies: Ports,
  port: number,
  { host = "origin.test", early = Buffer.alloc(0) }: { host?: string; early?: Buffer } = {},
): Promise<Reply> {
  const socket = dialProxy(way.port(proxies));
  socket.write(Buffer.concat([...way.hello(host, port), early]));
  return { said: await readReply(way, socket), socket };
}

export function dialProxy(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  return socket;
}

export async function readReply(way: Way, socket: Socket): Promise<Buffer> {
  let said = Buffer.alloc(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  const take = (chunk: Buffer) => {
    said = Buffer.concat([said, chunk]);
    if (!way.isWhole(said)) return;
    const length = way === socksWay ? 12 : said.indexOf("\r\n\r\n") + 4;
    socket.off("data", take).pause();
    if (way.isYes(said) && said.length > length) {
      socket.unshift(said.subarray(length));
      said = said.subarray(0, length);
    }
    resolve();
  };
  socket.on("data", take).once("end", resolve).once("close", resolve);
  await promise;
  socket.off("end", resolve).off("close", resolve);
  return said;
}

/** The number in an answer that says how it went. */
export function answered(way: Way, said: Buffer): string {
  return way === connectWay ? said.toString("latin1", 9, 12) : `${said[3]}`;
}

/** Everything up to the other side's end; rejects when the connection was reset instead. */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.once("end", resolve).once("error", reject);
  socket.once("close", () => reject(new Error("closed without an end")));
  socket.resume();
  await promise;
  return Buffer.concat(chunks);
}

/** A pattern in which a lost, doubled or misplaced block shows. */
export function bytes(length: number, seed = 1): Buffer {
  const block = Buffer.alloc(65_521);
  for (let at = 0; at < block.length; at++) block[at] = (at * 31 + seed * 17 + (at >> 8)) & 0xff;
  return Buffer.alloc(length, block);
}

/** What is offered at most to a reader that takes nothing. */
export const fillLimit = 256 * 1024 * 1024;

/** Writes as long as it is taken, and says how much that was once nothing has moved for a while. */
export async function fill(socket: Socket): Promise<number> {
  const chunk = Buffer.alloc(256 * 1024);
  let offered = 0;
  const more = () => {
    while (offered < fillLimit && socket.write(chunk)) offered += chunk.length;
  };
  socket.on("drain", more);
  more();
  const passed = () => socket.bytesWritten - socket.writableLength;
  let [last, stillSince] = [-1, 0];
  await until(() => {
    if (passed() !== last) [last, stillSince] = [passed(), performance.now()];
    return performance.now() - stillSince > 500;
  }, "the end of the writing");
  return passed();
}
