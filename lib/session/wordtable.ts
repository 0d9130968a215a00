const wordCodes = new Uint8Array(128);
for (const [first, last] of ["09", "AZ", "az"].map((ends) => [ends.charCodeAt(0), ends.charCodeAt(1)] as const))
  wordCodes.fill(1, first, last + 1);

const firstSlots = 4096;

/**
 * A set of words that finds them where they stand in a text: most words of a text are known, and making a string of
 * each takes four times as long.
 */
export class WordTable {
  /** Numbers of words, counted from 1, at or after the place that their hash gives. */
  #slots = new Int32Array(firstSlots);
  #hashes: number[] = [];
  #words: string[] = [];

  get size(): number {
    return this.#words.length;
  }

  clear(): void {
    this.#slots = new Int32Array(firstSlots);
    this.#hashes = [];
    this.#words = [];
  }

  /** The numbers of all words of an ASCII text that have this many characters, in their order. A new word is added. */
  numbersIn(text: string, shortest: number): number[] {
    const numbers: number[] = [];
    const { length } = text;
    let from = 0;
    let hash = 0;
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at);
      if (wordCodes[code] === 1) hash = (Math.imul(hash, 31) + code) | 0;
      else {
        if (at - from >= shortest) numbers.push(this.#numberOf(text, { from, to: at, hash }));
        from = at + 1;
        hash = 0;
      }
    }
    if (length - from >= shortest) numbers.push(this.#numberOf(text, { from, to: length, hash }));
    return numbers;
  }

  word(number: number): string {
    return this.#words[number] ?? "";
  }

  #numberOf(text: string, { from, to, hash }: Place): number {
    const mask = this.#slots.length - 1;
    let slot = spread(hash) & mask;
    for (let number = 0; (number = (this.#slots[slot] ?? 0) - 1) >= 0; slot = (slot + 1) & mask) {
      const word = this.#words[number] ?? "";
      if (this.#hashes[number] === hash && word.length === to - from && text.startsWith(word, from)) return number;
    }
    this.#hashes.push(hash);
    const added = this.#words.push(text.slice(from, to));
    this.#slots[slot] = added;
    if (added * 2 > this.#slots.length) this.#grow();
    return added - 1;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 4);
    const mask = slots.length - 1;
    for (const [number, hash] of this.#hashes.entries()) {
      let slot = spread(hash) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }
}

type Place = { from: number; to: number; hash: number };

/** All bits of a hash have their part in the lowest ones. */
function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
