import { unlessAborted } from "./unlessaborted.ts";

/** A key has one holder at a time; the others wait in line. */
export class KeyedLocks {
  /** Settles when the last one in line gives the key back. */
  readonly #lines = new Map<string, Promise<void>>();

  /** Holds all of the keys until the result is disposed. */
  async hold(keys: readonly string[], signal: AbortSignal): Promise<Disposable> {
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    // All places in line are taken at once, so that no two wait for each other.
    const before = keys.flatMap((key) => this.#lines.get(key) ?? []);
    // After an abort its place stays in line: later ones still wait for those before it.
    const line: Promise<void> = Promise.all([...before, free]).then(() => this.#leave(keys, line));
    for (const key of keys) this.#lines.set(key, line);
    try {
      await unlessAborted(Promise.all(before), signal);
    } catch (error) {
      release();
      throw error;
    }
    return { [Symbol.dispose]: release };
  }

  #leave(keys: readonly string[], line: Promise<void>): void {
    for (const key of keys) if (this.#lines.get(key) === line) this.#lines.delete(key);
  }
}
