import { counted } from "../counted.ts";

/** Lines that are shown as they come, and lines that are kept for the end, where a failure says what it is. */
const [mostFirst, mostLast] = [30, 10] as const;
/** A log is read in lines: what a minified file has in one of them is no use there. */
const mostCharacters = 1_000;

/** `\r` alone ends a line too; at the end of a piece it may be the first half of `\r\n`. */
const lineBreak = /\r\n|\n|\r(?!\n|$)/;

/** A command's output for a log: its first and last lines, and how many are in between. */
export class Excerpt {
  #unfinished = "";
  #first = 0;
  #leftOut = 0;
  readonly #last: string[] = [];

  /** Returns what to show at once. */
  add(text: string): string {
    const lines = (this.#unfinished + text).split(lineBreak);
    const unfinished = lines.pop() ?? "";
    // Cut with one character to spare, so that it still shows as cut when it ends.
    this.#unfinished = unfinished.endsWith("\r") ? unfinished : unfinished.slice(0, mostCharacters + 1);
    return joined(lines.filter((line) => this.#isFirst(line)));
  }

  /** Returns what is left to show when the command has ended. */
  end(): string {
    const first = this.#unfinished === "" ? "" : this.add("\n");
    const gap = this.#leftOut === 0 ? "" : `… ${counted(this.#leftOut, "more line")} (-v shows all)\n`;
    return `${first}${gap}${joined(this.#last)}`;
  }

  #isFirst(line: string): boolean {
    if (this.#first < mostFirst) return ++this.#first > 0;
    this.#last.push(line);
    if (this.#last.length > mostLast) {
      this.#last.shift();
      this.#leftOut++;
    }
    return false;
  }
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${shortened(line)}\n`).join("");
}

function shortened(line: string): string {
  return line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line;
}
