import { wholeCharacters } from "../config/utf8.ts";

/** Which lines of a file are wanted, and how much of them a model can be shown. */
export type WindowLimits = { start: number; lines: number; bytes: number; lineBytes: number };

type ShownLine = { number: number; text: string; cutBytes: number };

export type Shown = {
  lines: readonly ShownLine[];
  /** How many lines were counted so far: all of the file's, when everything was fed. */
  counted: number;
  isInvalidUtf8: boolean;
  hasCrlf: boolean;
  endsInNewline: boolean;
};

/**
 * Picks some lines out of bytes that come in chunks. It keeps what is shown and nothing else, so neither the size of
 * a file nor the length of a line matters.
 */
export class LineWindow {
  readonly #limits: WindowLimits;
  readonly #lines: ShownLine[] = [];
  #bytesShown = 0;
  #isFull = false;
  #isInvalid = false;
  #hasCrlf = false;

  #number = 1;
  #lineLength = 0;
  #kept: Uint8Array[] = [];
  #keptLength = 0;
  #lastByte = newline;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** Nothing that comes now can be shown any more; it is only counted. */
  get isFull(): boolean {
    return this.#isFull;
  }

  feed(chunk: Uint8Array): void {
    let at = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, at)) {
      this.#keep(chunk, at, end);
      this.#finishLine();
      at = end + 1;
    }
    this.#keep(chunk, at, chunk.length);
    this.#lastByte = chunk.at(-1) ?? this.#lastByte;
  }

  /** The lines to be shown of everything fed so far. */
  end(): Shown {
    const endsInNewline = this.#lastByte === newline;
    if (!endsInNewline) this.#finishLine();
    return {
      lines: this.#lines,
      counted: this.#number - 1,
      isInvalidUtf8: this.#isInvalid,
      hasCrlf: this.#hasCrlf,
      endsInNewline,
    };
  }

  #isWanted(): boolean {
    return !this.#isFull && this.#number >= this.#limits.start;
  }

  #keep(chunk: Uint8Array, from: number, to: number): void {
    this.#lineLength += to - from;
    const room = this.#limits.lineBytes - this.#keptLength;
    if (room <= 0 || from === to || !this.#isWanted()) return;
    // A copy: a part of a line must not keep its whole chunk in memory.
    const piece = new Uint8Array(chunk.subarray(from, Math.min(to, from + room)));
    this.#kept.push(piece);
    this.#keptLength += piece.length;
  }

  #finishLine(): void {
    if (this.#isWanted()) this.#show(Buffer.concat(this.#kept));
    this.#number++;
    this.#lineLength = 0;
    this.#kept = [];
    this.#keptLength = 0;
  }

  #show(kept: Buffer): void {
    const cutBytes = this.#lineLength - kept.length;
    const { text, isInvalid } = decode(kept, cutBytes > 0);
    this.#bytesShown += kept.length + 1;
    if (this.#lines.length > 0 && this.#bytesShown > this.#limits.bytes) {
      this.#isFull = true;
      return;
    }

    const isCrlf = cutBytes === 0 && text.endsWith("\r");
    const line = (this.#number === 1 ? text.replace(/^\uFEFF/, "") : text).slice(0, isCrlf ? -1 : undefined);
    this.#lines.push({ number: this.#number, text: line, cutBytes });
    this.#hasCrlf ||= isCrlf;
    this.#isInvalid ||= isInvalid;
    this.#isFull = this.#lines.length >= this.#limits.lines;
  }
}

const newline = 0x0a;

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });

/** A character that the cut fell into is left away, whole. */
function decode(bytes: Buffer, isCut: boolean): { text: string; isInvalid: boolean } {
  const whole = isCut ? wholeCharacters(bytes) : bytes;
  try {
    return { text: strict.decode(whole), isInvalid: false };
  } catch {
    // The only thing that a strict decoder throws for.
    return { text: lossy.decode(whole), isInvalid: true };
  }
}
