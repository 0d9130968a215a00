import type { Socket } from "node:net";
import type { ProxyLimits } from "./flows.ts";

/** The pause that is allowed between two requests on one connection. */
const restMs = 60_000;

type Client = {
  unanswered: number;
  /** The time from which it owes the rest of a head, or may be silent. */
  since: number;
  /** The number of bytes that it had sent by then; -1 while it owes a head. */
  read: number;
};

/**
 * The connections that speak HTTP. Each owes the first head at once, and a later one when it has begun it. One timer
 * checks them all.
 */
export class Clients {
  readonly #limits: ProxyLimits;
  readonly #onLate: (socket: Socket) => void;
  readonly #clients = new Map<Socket, Client>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(limits: ProxyLimits, onLate: (socket: Socket) => void) {
    this.#limits = limits;
    this.#onLate = onLate;
  }

  arrive(socket: Socket): void {
    // A client that connects wants something: it owes a head from the beginning.
    this.#clients.set(socket, { unanswered: 0, since: performance.now(), read: -1 });
    socket.once("close", () => this.leave(socket));
    this.#timer ??= this.#watch();
  }

  /** The connection was closed, or became a tunnel. */
  leave(socket: Socket): void {
    this.#clients.delete(socket);
    if (this.#clients.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** False for one that left: nothing that it still sends is a request. */
  has(socket: Socket): boolean {
    return this.#clients.has(socket);
  }

  asked(socket: Socket): void {
    const client = this.#clients.get(socket);
    if (client !== undefined) client.unanswered += 1;
  }

  answered(socket: Socket): void {
    const client = this.#clients.get(socket);
    if (client === undefined) return;
    client.unanswered -= 1;
    client.since = performance.now();
    client.read = socket.bytesRead;
  }

  /** True while bytes that we send would land in the middle of an answer. */
  isWaitingForAnswer(socket: Socket): boolean {
    return (this.#clients.get(socket)?.unanswered ?? 0) > 0;
  }

  #watch(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#sweep(), Math.min(1_000, this.#limits.headMs / 4));
    timer.unref();
    return timer;
  }

  #sweep(): void {
    const now = performance.now();
    for (const [socket, client] of this.#clients) {
      if (client.unanswered > 0) continue;
      const hasBegun = socket.bytesRead !== client.read;
      if (hasBegun && client.read >= 0) {
        client.since = now;
        client.read = -1;
      } else if (hasBegun && now - client.since >= this.#limits.headMs) {
        this.#onLate(socket);
      } else if (now - client.since >= restMs) {
        socket.destroySoon();
      }
    }
  }
}
