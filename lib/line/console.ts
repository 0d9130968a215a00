import { eraseLine } from "../sink/screen.ts";
import type { SinkOutput } from "../sink/sink.ts";
import { viewOf } from "./view.ts";

/** A line being typed; `cursor` is an index into its text. */
export type TypedLine = { prompt: string; text: string; cursor: number };

type ConsoleOptions = {
  out: SinkOutput;
  columns: () => number;
  /** The terminal only moves to the left and to the next line. */
  isDumb: boolean;
};

/** Output that comes faster than this is shown together. */
const frameMs = 16;
/** With more text than this waiting, it is shown at once. */
const mostHeld = 64 * 1024;

/**
 * A terminal with output above a line being typed: the typed line is cleared, the output is written, and the line
 * is drawn again. Without a typed line the output passes as it is.
 */
export class LineConsole {
  readonly #options: ConsoleOptions;
  #line: TypedLine | undefined;
  /** The typed line as it is on the terminal. */
  #shown: { text: string; after: string } | undefined;
  /** Output that has to wait for a whole row of it. */
  #held = "";
  /** The last row of the output: empty, unfinished text, or a spinner. */
  #row: "empty" | "text" | "spinner" = "empty";
  /** True when a row of text was broken off for the typed line. */
  #isBroken = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  get isTyping(): boolean {
    return this.#line !== undefined;
  }

  /** The output of the sink. */
  get output(): SinkOutput {
    const { out } = this.#options;
    return {
      write: (text) => this.#write(text),
      flush: () => out.flush(),
      get isIdle() {
        return out.isIdle;
      },
    };
  }

  /** Shows the line, or nothing when none is being typed. */
  show(line: TypedLine | undefined): void {
    this.#line = line;
    if (line === undefined) return this.#hide();
    this.#send(this.#drawn(line));
  }

  /** The typed line as it was entered becomes a part of the output. */
  enter(line: TypedLine): void {
    const { text } = viewOf(line, Infinity);
    const isWhole = this.#shown?.text === text;
    const before = this.#shown === undefined ? this.#opening() : isWhole ? "" : this.#cleared();
    this.#send(`${before}${isWhole ? "" : text}\n`);
    this.#line = undefined;
    this.#shown = undefined;
    this.#row = "empty";
    this.#isBroken = false;
    this.#hide();
  }

  #hide(): void {
    const erased = this.#shown === undefined ? "" : this.#cleared();
    this.#shown = undefined;
    const held = this.#held;
    this.#held = "";
    this.#send(erased);
    if (held !== "") void this.#write(held).catch(() => undefined);
  }

  async #write(text: string): Promise<void> {
    const { out } = this.#options;
    if (this.#line === undefined) {
      const continued = this.#continuation(text);
      this.#note(continued);
      return await out.write(continued);
    }
    // The spinner has no row of its own now.
    this.#held += text.replaceAll(eraseLine, "");
    if (this.#held.length > mostHeld) {
      this.#release();
      return await out.flush();
    }
    this.#timer ??= setTimeout(() => this.#release(), frameMs);
  }

  /** Writes whole rows of the output above the typed line. */
  #release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#line === undefined) return;
    const rows = this.#takeRows();
    if (rows === "") return;
    const above = this.#continuation(rows);
    const cleared = this.#shown === undefined ? "" : this.#cleared();
    this.#shown = undefined;
    this.#row = "empty";
    this.#send(`${cleared}${above}${this.#drawn(this.#line)}`);
  }

  #takeRows(): string {
    const width = Math.max(this.#options.columns() - 1, 10);
    const end = this.#held.lastIndexOf("\n") + 1;
    let rows = this.#held.slice(0, end);
    let rest = this.#held.slice(end);
    // A paragraph is one long line, which the reader should not have to wait for.
    while (!rest.includes("\u001b") && Bun.stringWidth(rest) > width) {
      const part = Bun.sliceAnsi(rest, 0, width);
      const space = part.lastIndexOf(" ");
      const length = space > width / 2 ? space + 1 : part.length;
      rows += `${rest.slice(0, length).trimEnd()}\n`;
      rest = rest.slice(length);
      this.#isBroken = rest === "";
    }
    this.#held = rest;
    return rows;
  }

  /** The end of a row that was broken off is there already. */
  #continuation(text: string): string {
    if (text === "" || !this.#isBroken) return text;
    this.#isBroken = false;
    return text.startsWith("\n") ? text.slice(1) : text;
  }

  #note(text: string): void {
    if (text === "") return;
    if (text.endsWith("\n")) this.#row = "empty";
    else if (text.startsWith(eraseLine)) this.#row = text === eraseLine ? "empty" : "spinner";
    else this.#row = "text";
  }

  /** Makes room for the typed line. */
  #opening(): string {
    const row = this.#row;
    this.#row = "empty";
    if (row === "text") this.#isBroken = true;
    return row === "text" ? "\n" : row === "spinner" ? eraseLine : "";
  }

  #cleared(): string {
    // The typed line is the last; after a change of size a part of it may be in the next row.
    return this.#options.isDumb ? "\n" : "\r\u001b[J";
  }

  /** As little as possible: a screen reader reads all that is written. */
  #drawn(line: TypedLine): string {
    const { columns } = this.#options;
    const view = viewOf(line, columns());
    const before = this.#shown;
    const opening = before === undefined ? this.#opening() : "";
    this.#shown = view;
    const isAtEnd = view.after === "" && (before?.after ?? "") === "";
    if (before !== undefined && isAtEnd && view.text.startsWith(before.text))
      return view.text.slice(before.text.length);
    if (before !== undefined && isAtEnd && before.text.startsWith(view.text))
      return "\b \b".repeat(Bun.stringWidth(before.text) - Bun.stringWidth(view.text));
    const back = "\b".repeat(Bun.stringWidth(view.after));
    if (before === undefined) return `${opening}${view.text}${back}`;
    return `${this.#cleared()}${view.text}${back}`;
  }

  /** A terminal that is gone is told of by a signal. */
  #send(text: string): void {
    if (text !== "") void this.#options.out.write(text).catch(() => undefined);
  }
}
