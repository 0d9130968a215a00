import type { Socket } from "node:net";

/** The limits of a session's proxies. */
export type ProxyLimits = {
  /** Tunnels and forwarded requests at one time. */
  flows: number;
  /** Connections of clients at one time, silent ones included. */
  clients: number;
  /** The time without a byte in either direction. One direction alone may rest: a long download sends nothing up. */
  idleMs: number;
  lifetimeMs: number;
  headBytes: number;
  headMs: number;
  connectMs: number;
};

export const defaultProxyLimits: ProxyLimits = {
  flows: 1024,
  clients: 4096,
  idleMs: 300_000,
  lifetimeMs: 3_600_000,
  headBytes: 8 * 1024,
  headMs: 10_000,
  connectMs: 15_000,
};

/** A tunnel or a forwarded request, from the check of the rules to the last byte. */
export type Flow = {
  /** The client's, and later the target's. */
  readonly sockets: Socket[];
  readonly stop: (why: string) => void;
  readonly startedAt: number;
  movedAt: number;
  moved: number;
};

/** All flows of the proxies. They share a timer: one each would cost an idle tunnel more than its buffers. */
export class Flows implements Disposable {
  readonly #limits: ProxyLimits;
  readonly #open = new Set<Flow>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(limits: ProxyLimits) {
    this.#limits = limits;
  }

  /** Undefined when the limit is reached. */
  start(client: Socket, stop: (why: string) => void): Flow | undefined {
    if (this.#open.size >= this.#limits.flows) return undefined;
    const now = performance.now();
    const flow: Flow = { sockets: [client], stop, startedAt: now, movedAt: now, moved: 0 };
    this.#open.add(flow);
    this.#timer ??= this.#watch();
    return flow;
  }

  end(flow: Flow): void {
    this.#open.delete(flow);
    if (this.#open.size === 0) this.#rest();
  }

  get size(): number {
    return this.#open.size;
  }

  [Symbol.dispose](): void {
    for (const flow of this.#open) flow.stop("the proxies were closed");
    this.#open.clear();
    this.#rest();
  }

  #watch(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#sweep(), Math.min(5_000, this.#limits.idleMs / 10));
    timer.unref();
    return timer;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = performance.now();
    const { idleMs, lifetimeMs } = this.#limits;
    for (const flow of this.#open) {
      const moved = flow.sockets.reduce((sum, socket) => sum + passed(socket), 0);
      if (moved !== flow.moved) flow.movedAt = now;
      flow.moved = moved;
      if (now - flow.movedAt >= idleMs) flow.stop(`nothing moved for ${idleMs / 1000} s`);
      else if (now - flow.startedAt >= lifetimeMs) flow.stop(`it went on for ${lifetimeMs / 1000} s`);
    }
  }
}

/** Bytes that wait to be written do not count: a slow reader keeps its flow alive. */
function passed(socket: Socket): number {
  return socket.bytesRead + socket.bytesWritten - socket.writableLength;
}
