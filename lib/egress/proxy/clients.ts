import type { Socket } from "node:net";
import type { ProxyLimits } from "./flows.ts";

/** Between two requests on one connection. */
const restMs = 60_000;

type Client = {
  unanswered: number;
  /** Since when it owes the rest of a head, or may be silent. */
  since: number;
  /** What it had sent by then. */
  read: number;
};

/**
 * The connections that speak HTTP, and what each owes: the first head at once, a later one when it has begun it.
 * Looked at now and then, for all together.
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
    // It has not begun yet, and is treated as if it had: whoever connects here wants something.
    this.#clients.set(socket, { unanswered: 0, since: performance.now(), read: -1 });
    socket.once("close", () => this.leave(socket));
    this.#timer ??= this.#watch();
  }

  /** It speaks HTTP no more: it has gone, or has a tunnel. */
  leave(socket: Socket): void {
    this.#clients.delete(socket);
    if (this.#clients.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
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

  /** Whether what we say now would stand in the middle of an answer. */
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
