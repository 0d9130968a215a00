import { connect, createServer, Socket } from "node:net";
import { once } from "node:events";
import { portOf } from "./egress.ts";

/** A network between a client and a server, which can be cut. */
export type Relay = AsyncDisposable & {
  port: number;
  /** Nothing arrives any more, in either direction, and no side is told: as when a cable is pulled out. */
  cut(): void;
  /** Cuts it when a client has sent this text, so that the server gets it and its answer is lost. */
  cutAfter(text: string): void;
  /** New connections reach the server again; those of before the cut stay dead. */
  repair(): void;
};

/** Connections to a port of loopback, passed on to a server's socket. */
export async function startRelay(path: string): Promise<Relay> {
  const passing = new Set<readonly [near: Socket, far: Socket]>();
  let isCut = false;
  let lastText: string | undefined;
  const server = createServer((near) => {
    const far = isCut ? new Socket() : connect(path);
    const pair = [near, far] as const;
    passing.add(pair);
    for (const socket of pair) socket.on("error", () => {});
    if (isCut) return;
    near.on("data", (data: Buffer) => {
      if (lastText === undefined || !data.includes(lastText)) return;
      isCut = true;
      detach(...[...passing].map(([, server]) => server));
    });
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const detach = (...sockets: Socket[]) => {
    for (const socket of sockets) socket.removeAllListeners("close").removeAllListeners("end").unpipe().pause();
  };
  return {
    port: portOf(server),
    cut() {
      isCut = true;
      detach(...[...passing].flat());
    },
    cutAfter(text) {
      lastText = text;
    },
    repair() {
      isCut = false;
      lastText = undefined;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of [...passing].flat()) socket.destroy();
    },
  };
}
