import { unlessAborted } from "./unlessaborted.ts";

/** Whoever holds a key has it alone; others wait, in the order in which they came. */
export class KeyedLocks {
  /** Settles when the last one in line gives the key back. */
  readonly #lines = new Map<string, Promise<void>>();

  /** Holds all of the keys until the result is disposed. */
  async hold(keys: readonly string[], signal: AbortSignal): Promise<Disposable> {
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    // All places in line are taken at once, so that no two wait for each other.
    const before = keys.flatMap((key) => this.#lines.get(key) ?? []);
    const line = Promise.all([...before, free]).then(() => undefined);
    for (const key of keys) this.#lines.set(key, line);
    const leave = () => {
      release();
      for (const key of keys) if (this.#lines.get(key) === line) this.#lines.delete(key);
    };
    try {
      await unlessAborted(Promise.all(before), signal);
    } catch (error) {
      leave();
      throw error;
    }
    return { [Symbol.dispose]: leave };
  }
}
