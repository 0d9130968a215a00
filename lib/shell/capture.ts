/** One stream of a command, as much of it as is kept: `head`, then a gap of `total - kept` bytes, then `tail`. */
export type KeptStream = {
  head: Uint8Array;
  tail: Uint8Array;
  totalBytes: number;
  totalLines: number;
};

/** Keeps the beginning and the end of a stream of any length, in bounded memory. */
export type Capture = {
  add(bytes: Uint8Array): void;
  kept(): KeptStream;
};

const headLimit = 1024 * 1024;
const tailLimit = 1024 * 1024;
const newline = 10;

export function createCapture(): Capture {
  let head = new Uint8Array(4096);
  let headLength = 0;
  /** Written round and round, once the head is full. */
  let ring: Uint8Array | undefined;
  let totalBytes = 0;
  let newlines = 0;
  let endsInLine = false;

  return {
    add(bytes) {
      if (bytes.length === 0) return;
      totalBytes += bytes.length;
      newlines += countNewlines(bytes);
      endsInLine = bytes.at(-1) !== newline;
      addToRing(addToHead(bytes));
    },

    kept: () => ({
      head: head.slice(0, headLength),
      tail: ring === undefined ? new Uint8Array() : unrolled(ring, totalBytes - headLength),
      totalBytes,
      totalLines: newlines + (endsInLine ? 1 : 0),
    }),
  };

  /** Returns what did not fit. */
  function addToHead(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, headLimit - headLength);
    if (headLength + part.length > head.length) head = grown(head, headLength + part.length);
    head.set(part, headLength);
    headLength += part.length;
    return bytes.subarray(part.length);
  }

  function addToRing(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    ring ??= new Uint8Array(tailLimit);
    const last = bytes.subarray(-tailLimit);
    const start = (totalBytes - headLength - last.length) % tailLimit;
    const untilEdge = last.subarray(0, tailLimit - start);
    ring.set(untilEdge, start);
    ring.set(last.subarray(untilEdge.length), 0);
  }
}

/** A position in a stream. */
type Position = { bytes: number; newlines: number };

export const beginning: Position = { bytes: 0, newlines: 0 };

export function endOf({ head, tail, totalBytes, totalLines }: KeptStream): Position {
  const last = tail.at(-1) ?? head.at(-1) ?? newline;
  return { bytes: totalBytes, newlines: last === newline ? totalLines : totalLines - 1 };
}

/** The output after a position. A line that was unfinished there counts again: more of it has come. */
export function since({ bytes, newlines }: Position, now: KeptStream): KeptStream {
  const tailStart = now.totalBytes - now.tail.length;
  const totalBytes = now.totalBytes - bytes;
  return {
    head: now.head.subarray(bytes),
    tail: now.tail.subarray(Math.max(0, bytes - tailStart)),
    totalBytes,
    totalLines: totalBytes === 0 ? 0 : now.totalLines - newlines,
  };
}

function grown(bytes: Uint8Array<ArrayBuffer>, needed: number): Uint8Array<ArrayBuffer> {
  const bigger = new Uint8Array(Math.min(headLimit, Math.max(needed, bytes.length * 2)));
  bigger.set(bytes);
  return bigger;
}

/** The last bytes in their order, of all that were ever written to the ring. */
function unrolled(ring: Uint8Array, written: number): Uint8Array {
  if (written <= ring.length) return ring.slice(0, written);
  const start = written % ring.length;
  const bytes = new Uint8Array(ring.length);
  bytes.set(ring.subarray(start), 0);
  bytes.set(ring.subarray(0, start), ring.length - start);
  return bytes;
}

/**
 * Four bytes at a time, because this looks at every byte that any command prints: a plain loop takes three times as
 * long, and hopping with indexOf thirty times when lines are short.
 */
export function countNewlines(bytes: Uint8Array): number {
  if (!bytes.includes(newline)) return 0;
  const firstWord = Math.min(bytes.length, -bytes.byteOffset & 3);
  const wordCount = (bytes.length - firstWord) >>> 2;
  const lastBytes = firstWord + wordCount * 4;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + firstWord, wordCount);

  let count = countBytewise(bytes, 0, firstWord) + countBytewise(bytes, lastBytes, bytes.length);
  for (let start = 0; start < wordCount; start += 255) count += countInWords(words, start, start + 255);
  return count;
}

/** At most 255 words: `sums` holds a count for each of the four bytes, and each has eight bits. */
function countInWords(words: Int32Array, from: number, to: number): number {
  const end = Math.min(to, words.length);
  let sums = 0;
  for (let index = from; index < end; index++) {
    // After the exclusive or a newline is a zero byte, and only that leaves its top bit clear here and in the sum.
    const word = (words[index] ?? 0) ^ 0x0a0a0a0a;
    const sum = ((word & 0x7f7f7f7f) + 0x7f7f7f7f) | 0;
    sums = (sums + (~(sum | word | 0x7f7f7f7f) >>> 7)) | 0;
  }
  return (sums & 255) + ((sums >>> 8) & 255) + ((sums >>> 16) & 255) + (sums >>> 24);
}

function countBytewise(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; index++) if (bytes[index] === newline) count++;
  return count;
}
