import { once } from "node:events";
import type { Socket } from "node:net";
import { ask, connectWay, dialProxy, socksWay, type Ports, type Way } from "./egress.ts";
import { send, takeSlowly } from "./orders.ts";

/** A way through a proxy for many bytes, to somebody who takes them slowly; the server obeys orders. */
export type SlowPassage = { name: string; pass(wish: Wish): Promise<void> };

type Wish = { proxy: Ports; port: number; megabytes: number };
type Open = (wish: Wish, order: string) => Promise<Socket>;

const host = "127.0.0.1";

const tunnel =
  (way: Way): Open =>
  async ({ proxy, port }, order) => {
    const { socket } = await ask(way, proxy, port, { host });
    socket.write(`${order}\n`);
    return socket;
  };

const plain =
  (method: "GET" | "POST"): Open =>
  async ({ proxy, port, megabytes }, order) => {
    const socket = dialProxy(proxy.httpPort);
    const length = method === "POST" ? `Content-Length: ${megabytes * 1024 * 1024}\r\n` : "";
    socket.write(`${method} http://${host}:${port}/${order} HTTP/1.1\r\nHost: ${host}\r\n${length}\r\n`);
    return socket;
  };

const toReader = (open: Open) => async (wish: Wish) => {
  const socket = await open(wish, `d${wish.megabytes}`);
  await new Promise<void>((whenDone) => takeSlowly(socket, { megabytes: wish.megabytes, whenDone }));
  socket.destroy();
};

const toServer = (open: Open) => async (wish: Wish) => {
  const socket = await open(wish, `t${wish.megabytes}`);
  send(socket, { megabytes: wish.megabytes, whenDone: () => {} });
  // It answers when it has taken all.
  await once(socket.resume(), "data");
  socket.destroy();
};

export const slowPassages: readonly SlowPassage[] = [
  { name: "to a slow reader, CONNECT", pass: toReader(tunnel(connectWay)) },
  { name: "to a slow reader, SOCKS5", pass: toReader(tunnel(socksWay)) },
  { name: "to a slow reader, a plain request", pass: toReader(plain("GET")) },
  { name: "to a slow server, CONNECT", pass: toServer(tunnel(connectWay)) },
  { name: "to a slow server, SOCKS5", pass: toServer(tunnel(socksWay)) },
  { name: "to a slow server, a plain request", pass: toServer(plain("POST")) },
];
