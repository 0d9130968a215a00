import { readRegularFile } from "../files/read.ts";
import type { FileLog } from "../session/files.ts";

type Entry<T> = { generation: number; files: FileLog; result: T };

/** The oldest go first. */
const mostEntries = 64;

/** A file of this size was not read whole. */
const largestFile = 16 * 1024 * 1024;

/**
 * The answers of agents that would be the same again: nothing has been changed by a call since they began, and no file
 * that they have read by anybody else.
 */
export class ResultCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #generation: () => number | undefined;

  /** The generation is another one after each call that may write, and undefined while something may at any moment. */
  constructor(generation: () => number | undefined) {
    this.#generation = generation;
  }

  find(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.generation === this.#generation() && isUnchanged(entry.files)) return entry.result;
    this.#entries.delete(key);
    return undefined;
  }

  /** Called when an agent begins; the result keeps its answer, if it is still good for others by then. */
  begin(key: string): (result: T, files: FileLog) => void {
    const generation = this.#generation();
    return (result, files) => {
      if (generation === undefined || generation !== this.#generation()) return;
      this.#entries.delete(key);
      this.#entries.set(key, { generation, files, result });
      const [oldest] = this.#entries.keys();
      if (this.#entries.size > mostEntries && oldest !== undefined) this.#entries.delete(oldest);
    };
  }
}

function isUnchanged(files: FileLog): boolean {
  return files.paths().every((path) => {
    const bytes = readRegularFile(path, largestFile, { isReal: true });
    return bytes !== undefined && !("problem" in bytes) && files.isAsRead(path, bytes);
  });
}
