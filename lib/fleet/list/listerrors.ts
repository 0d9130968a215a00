import { counted } from "../../counted.ts";
import { KodaError } from "../../errors.ts";
import { visibleLine } from "../../visible.ts";

/** More would scroll the first ones away. */
const mostShown = 20;
const longestValue = 80;

/** The mistakes in a file of lines, each with its line: all of them are reported at once. */
export class ListErrors {
  readonly #name: string;
  readonly #found: { line: number; problem: string }[] = [];

  /** Messages call the file `name`. */
  constructor(name: string) {
    this.#name = name;
  }

  get any(): boolean {
    return this.#found.length > 0;
  }

  add(line: number, problem: string): void {
    this.#found.push({ line, problem });
  }

  /** Throws when there is one. */
  assertNone(advice?: string): void {
    if (!this.any) return;
    const sorted = this.#found.toSorted((one, other) => one.line - other.line);
    const shown = sorted
      .slice(0, mostShown)
      .map(({ line, problem }) => visibleLine(`${this.#name}:${line}: ${problem}`));
    const more = sorted.length - shown.length;
    const lines = [
      ...shown,
      ...(more > 0 ? [`and ${more} more`] : []),
      ...(advice === undefined ? [] : [advice]),
      "Nothing was submitted.",
    ];
    throw new KodaError("usage", `${counted(sorted.length, "mistake")} in the task list\n${lines.join("\n")}`);
  }
}

/** A value of JSON as a message shows it. */
export function shownJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}
