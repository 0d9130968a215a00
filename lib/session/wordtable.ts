const wordCodes = new Uint8Array(128);
for (const [first, last] of ["09", "AZ", "az"].map((ends) => [ends.charCodeAt(0), ends.charCodeAt(1)] as const))
  wordCodes.fill(1, first, last + 1);

const firstSlots = 4096;
const encoder = new TextEncoder();

/**
 * A value for each word of ASCII texts, made when the word is first seen. Words are found where they stand in a text:
 * most are known, and making a string of each takes four times as long.
 */
export class WordTable {
  readonly #valueOf: (word: string) => string;
  /** Numbers of words, counted from 1, at or after the place that their hash gives. */
  #slots = new Int32Array(firstSlots);
  /** Two hashes of each word: words with the same two, one pair in many billions, would have one value. */
  #hashes = new Int32Array(firstSlots);
  #values: string[] = [];
  #bytes = new Uint8Array(1 << 16);

  constructor(valueOf: (word: string) => string) {
    this.#valueOf = valueOf;
  }

  clear(): void {
    this.#slots = new Int32Array(firstSlots);
    this.#hashes = new Int32Array(firstSlots);
    this.#values = [];
  }

  /** The values of all words of a text that have this many characters, in their order, but for empty ones. */
  valuesIn(text: string, shortest: number): string[] {
    const found: string[] = [];
    const { length } = text;
    const bytes = this.#bytesOf(text);
    let from = 0;
    let hash = 0;
    let other = 0;
    for (let at = 0; at <= length; at++) {
      const code = bytes[at] ?? 0;
      if (wordCodes[code] === 1) {
        hash = (Math.imul(hash, 31) + code) | 0;
        other = Math.imul(other ^ code, 0x5bd1e995);
        continue;
      }
      if (at - from >= shortest) {
        const value = this.#values[this.#numberOf(hash, other)] ?? this.#add(text.slice(from, at), hash, other);
        if (value !== "") found.push(value);
      }
      from = at + 1;
      hash = 0;
      other = 0;
    }
    return found;
  }

  /** With a zero behind them, which ends the last word. */
  #bytesOf(text: string): Uint8Array {
    if (text.length >= this.#bytes.length) this.#bytes = new Uint8Array(text.length * 2);
    encoder.encodeInto(text, this.#bytes);
    this.#bytes[text.length] = 0;
    return this.#bytes;
  }

  #numberOf(hash: number, other: number): number {
    const mask = this.#slots.length - 1;
    let slot = spread(hash) & mask;
    for (let number = 0; (number = (this.#slots[slot] ?? 0) - 1) >= 0; slot = (slot + 1) & mask)
      if (this.#hashes[2 * number] === hash && this.#hashes[2 * number + 1] === other) return number;
    return -1;
  }

  #add(word: string, hash: number, other: number): string {
    const value = this.#valueOf(word);
    const number = this.#values.push(value) - 1;
    if (2 * this.#values.length > this.#slots.length) this.#grow(number);
    this.#hashes[2 * number] = hash;
    this.#hashes[2 * number + 1] = other;
    this.#enter(number);
    return value;
  }

  #grow(words: number): void {
    const hashes = this.#hashes;
    this.#slots = new Int32Array(this.#slots.length * 4);
    this.#hashes = new Int32Array(this.#slots.length);
    this.#hashes.set(hashes);
    for (let number = 0; number < words; number++) this.#enter(number);
  }

  #enter(number: number): void {
    const mask = this.#slots.length - 1;
    let slot = spread(this.#hashes[2 * number] ?? 0) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = number + 1;
  }
}

/** All bits of a hash have their part in the lowest ones. */
function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
