import { withCommas } from "../counted.ts";

/**
 * The allowance at first, and its growth each second. More output than that is left out, with a line that says how
 * much: a command may print gigabytes, and all that is shown waits in memory until the reader has taken it.
 */
const burstBytes = 1024 * 1024;
const bytesPerSecond = 64 * 1024;

/** A line that takes longer than this to come is shown in parts. */
const partialAfterMs = 100;
const longestPart = 16 * 1024;

/** More text at once than this is shown as one block: it is too much to be read line by line. */
const blockFrom = 2 * 1024;

/** Shows output as it comes, for people: whole lines where possible, and no more than anyone could want to follow. */
export class LiveOutput {
  readonly #show: (text: string) => void;
  readonly #clock: () => number;
  #decoder = newDecoder();
  #unfinished = "";
  #isMidLine = false;
  #hiddenBytes = 0;
  #allowance = burstBytes;
  #refilledAt: number;
  #timer: Timer | undefined;

  constructor(show: (text: string) => void, clock: () => number = () => performance.now()) {
    this.#show = show;
    this.#clock = clock;
    this.#refilledAt = clock();
  }

  add(bytes: Uint8Array): void {
    if (!this.#affords(bytes.length)) return this.#hide(bytes.length);
    const visible = this.#hiddenBytes > 0 ? this.#resume(bytes) : bytes;
    this.#unfinished += this.#decoder.decode(visible, { stream: true });
    this.#showLines();
    if (this.#unfinished.length >= longestPart) this.#showUnfinished();
    if (this.#unfinished !== "") this.#timer ??= setTimeout(() => this.#showUnfinished(), partialAfterMs);
  }

  /** Shows what is still held back. */
  end(): void {
    this.#unfinished += this.#decoder.decode();
    this.#showUnfinished();
    if (this.#hiddenBytes > 0) this.#showGap();
  }

  #affords(bytes: number): boolean {
    const now = this.#clock();
    const refill = ((now - this.#refilledAt) / 1000) * bytesPerSecond;
    this.#allowance = Math.min(burstBytes, this.#allowance + refill);
    this.#refilledAt = now;
    if (bytes > this.#allowance) return false;
    this.#allowance -= bytes;
    return true;
  }

  #hide(bytes: number): void {
    this.#showUnfinished();
    this.#hiddenBytes += bytes;
  }

  /** Goes on after a gap, with a whole line if there is one. */
  #resume(bytes: Uint8Array): Uint8Array {
    const lineStart = bytes.indexOf(10) + 1;
    this.#hiddenBytes += lineStart;
    this.#showGap();
    this.#decoder = newDecoder();
    return bytes.subarray(lineStart);
  }

  #showGap(): void {
    this.#put(`${this.#isMidLine ? "\n" : ""}[… ${withCommas(this.#hiddenBytes)} bytes not shown here …]\n`);
    this.#hiddenBytes = 0;
  }

  #showLines(): void {
    const end = this.#unfinished.lastIndexOf("\n") + 1;
    if (end === 0) return;
    const lines = this.#unfinished.slice(0, end);
    this.#unfinished = this.#unfinished.slice(end);
    this.#stopTimer();
    if (lines.length >= blockFrom) this.#put(lines);
    else for (const line of lines.match(/[^\n]*\n/g) ?? []) this.#put(line);
  }

  #showUnfinished(): void {
    this.#stopTimer();
    if (this.#unfinished === "") return;
    this.#put(this.#unfinished);
    this.#unfinished = "";
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #put(text: string): void {
    this.#isMidLine = !text.endsWith("\n");
    this.#show(text);
  }
}

function newDecoder(): InstanceType<typeof TextDecoder> {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}
