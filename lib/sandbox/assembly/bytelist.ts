/** Bytes that are added in thousands of short pieces, for which arrays would take most of the time. */
export class ByteList {
  #bytes = new Uint8Array(16 * 1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The bytes so far; they are only lent. */
  get content(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  add(bytes: ArrayLike<number>): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  addText(text: string): void {
    // No character takes more.
    this.#makeRoom(3 * text.length);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /** 64 bits, lowest byte first. */
  addWord(value: number | bigint): void {
    this.#makeRoom(8);
    if (typeof value === "bigint") this.#view.setBigUint64(this.#length, BigInt.asUintN(64, value), true);
    else {
      this.#view.setUint32(this.#length, value >>> 0, true);
      this.#view.setUint32(this.#length + 4, Math.floor(value / 2 ** 32) >>> 0, true);
    }
    this.#length += 8;
  }

  /** Adds zeros up to a multiple of `bytes`. */
  align(bytes: number): void {
    const padding = -this.#length & (bytes - 1);
    this.#makeRoom(padding);
    this.#length += padding;
  }

  replace(at: number, bytes: ArrayLike<number>): void {
    this.#bytes.set(bytes, at);
  }

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const bigger = new Uint8Array(2 * this.#bytes.length + more);
    bigger.set(this.#bytes);
    this.#bytes = bigger;
    this.#view = new DataView(bigger.buffer);
  }
}

const encoder = new TextEncoder();
