import { unlessAborted } from "./unlessaborted.ts";

/** At most so many at once: the others wait, in the order in which they came. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  get areTaken(): boolean {
    return this.#free === 0;
  }

  /** A slot, until it is disposed. */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      try {
        await unlessAborted(promise, signal);
      } catch (error) {
        const at = this.#waiting.indexOf(resolve);
        // Its turn came at the same moment.
        if (at === -1) this.#release();
        else this.#waiting.splice(at, 1);
        throw error;
      }
    }
    return { [Symbol.dispose]: () => this.#release() };
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
