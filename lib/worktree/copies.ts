import { closeSync, openSync, readSync, writeSync } from "node:fs";

export type Place = { offset: number; length: number };

/** The contents of many files in one: writing 50,000 files of their own takes ten times as long. */
export class Copies {
  readonly #file: number;
  #end = 0;

  /** Makes the file, which must not be there. */
  constructor(path: string) {
    this.#file = openSync(path, "wx+", 0o600);
  }

  /** Undefined when there would be too much of it. */
  add(bytes: Uint8Array): Place | undefined {
    if (this.#end + bytes.length > mostBytes) return undefined;
    const place = { offset: this.#end, length: bytes.length };
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#file, bytes, written, bytes.length - written, this.#end + written);
    }
    this.#end += bytes.length;
    return place;
  }

  read({ offset, length }: Place): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let read = 0; read < length;) {
      const more = readSync(this.#file, bytes, read, length - read, offset + read);
      if (more === 0) throw new Error(`the copies end at ${offset + read}, before ${offset + length}`);
      read += more;
    }
    return bytes;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

const mostBytes = 1024 * 1024 * 1024;
