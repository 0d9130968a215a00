import { counted } from "../counted.ts";

/** The first lines are shown at once; the last ones are kept for the end, where a command says why it failed. */
const [mostFirst, mostLast] = [30, 10] as const;
/** Longer lines, as in a minified file, make a log hard to read. */
const mostCharacters = 1_000;

/** `\r` alone ends a line too; at the end of a piece it may be the first half of `\r\n`. */
const lineBreak = /\r\n|\n|\r(?!\n|$)/;

/** A command's output for a log: its first and last lines, and the number of lines in between. */
export class OutputExcerpt {
  #unfinished = "";
  #first = 0;
  #omitted = 0;
  readonly #last: string[] = [];

  /** Returns the lines to show now. */
  add(text: string): string {
    const lines = (this.#unfinished + text).split(lineBreak);
    const unfinished = lines.pop() ?? "";
    // One character more than the limit, so that the line still shows as cut when it ends.
    this.#unfinished = unfinished.endsWith("\r") ? unfinished : unfinished.slice(0, mostCharacters + 1);
    return joined(lines.filter((line) => this.#isFirst(line)));
  }

  /** Returns the remaining lines to show when the command has ended. */
  end(): string {
    const first = this.#unfinished === "" ? "" : this.add("\n");
    const gap = this.#omitted === 0 ? "" : `… ${counted(this.#omitted, "more line")} (-v shows all)\n`;
    return `${first}${gap}${joined(this.#last)}`;
  }

  #isFirst(line: string): boolean {
    if (this.#first < mostFirst) return ++this.#first > 0;
    this.#last.push(line);
    if (this.#last.length > mostLast) {
      this.#last.shift();
      this.#omitted++;
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
