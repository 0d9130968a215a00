/** Aborts its signal after some time, in which pauses do not count. */
export class Countdown implements Disposable {
  readonly #controller = new AbortController();
  #leftMs: number;
  #startedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The pauses that have not ended. */
  #pauses = 0;

  constructor(ms: number) {
    this.#leftMs = ms;
    this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The result of work that takes none of the time. */
  async without<T>(work: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) this.#stop();
    try {
      return await work();
    } finally {
      if (--this.#pauses === 0) this.#start();
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#leftMs = Infinity;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
  }

  #start(): void {
    this.#startedAt = performance.now();
    if (this.#leftMs < Infinity) this.#timer = setTimeout(() => this.#controller.abort(), Math.max(0, this.#leftMs));
  }
}
