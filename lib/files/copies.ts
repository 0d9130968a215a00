import { closeSync, openSync, readSync, writeSync } from "node:fs";
import type { Content } from "./entry.ts";

/** A part of the file of copies. */
type Copy = Content & { readonly offset: number };

/** The contents of many files in one: writing 50,000 files of their own takes ten times as long. */
export class Copies implements Disposable {
  readonly #file: number;
  #end = 0;

  /** Makes the file, which must not be there, or opens one that was written earlier. */
  constructor(path: string, flags: "wx+" | "r" = "wx+") {
    this.#file = openSync(path, flags, 0o600);
  }

  /** Undefined when there would be too much of it. */
  add(bytes: Uint8Array): Copy | undefined {
    if (this.#end + bytes.length > mostBytes) return undefined;
    const copy = this.at(this.#end, bytes.length);
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#file, bytes, written, bytes.length - written, this.#end + written);
    }
    this.#end += bytes.length;
    return copy;
  }

  at(offset: number, length: number): Copy {
    return { offset, length, read: () => this.#read(offset, length) };
  }

  #read(offset: number, length: number): Uint8Array {
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

/** Larger files are not copied: that one changed can be seen, but it cannot be restored. */
export const largestCopy = 64 * 1024 * 1024;
