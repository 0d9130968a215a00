import type { Interface } from "node:readline";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

type EditorOptions = {
  /** Earlier inputs, newest first. */
  history: readonly string[];
  entered(text: string): void;
  changed(): void;
  /** The continuations of the text before the cursor, and the part of it that they replace. */
  complete(before: string): Promise<[matches: string[], word: string]>;
};

/** Bun's types do not have the history, which is a property of the interface. */
type WithHistory = Interface & { history: string[] };

const mostEntries = 1000;

/** Stands for a line feed within the line, which the platform's editor would treat as a key or as a second row. */
export const feed = "\ue00a";

const folded = (text: string) => text.replaceAll("\n", feed);

/** The platform's line editor without its display: keys go in, and the line and the cursor come out. */
export class LineEditor {
  readonly #keys = new Readable({ read: () => {} });
  readonly #readline: WithHistory;
  /** Pasted texts of several lines, by the words that stand for them in the line. */
  readonly #pasted = new Map<string, string>();

  constructor({ history, entered, changed, complete }: EditorOptions) {
    this.#readline = createInterface({
      input: this.#keys,
      output: new Writable({ write: (_, __, done) => done() }),
      terminal: true,
      history: history.map(folded),
      historySize: mostEntries,
      completer: (before: string, answer: (error: null, found: [string[], string]) => void) => {
        const answered = complete(before).then((found) => answer(null, found));
        void answered.finally(() => setImmediate(changed));
      },
    }) as WithHistory;
    this.#readline.on("line", (line) => entered(line));
    // After the line editor, which listens since it was made.
    this.#keys.on("keypress", changed);
  }

  get text(): string {
    return this.#readline.line;
  }

  get cursor(): number {
    return this.#readline.cursor;
  }

  press(bytes: Buffer): void {
    this.#keys.emit("data", bytes);
  }

  /** Several lines stand in the line as a few words. */
  paste(pasted: string): void {
    const text = pasted.replaceAll(/\r\n?/g, "\n").replace(/\n$/, "");
    const lines = text.split("\n").length;
    if (lines === 1) return this.#readline.write(text);
    const words = `[paste ${this.#pasted.size + 1}: ${lines} lines]`;
    this.#pasted.set(words, text);
    this.#readline.write(words);
  }

  /** The text that a line stands for. */
  expanded(line: string): string {
    const pasted = line.replaceAll(/\[paste \d+: \d+ lines\]/g, (words) => this.#pasted.get(words) ?? words);
    return pasted.replaceAll(feed, "\n");
  }

  /** Replaces the line; returns that of before. */
  replace(text: string): string {
    const before = this.text;
    this.#readline.write(null, { ctrl: true, name: "e" });
    this.#readline.write(null, { ctrl: true, name: "u" });
    if (text !== "") this.#readline.write(text);
    return before;
  }

  /** The line editor remembers each line; an input may have several. */
  remember(lines: readonly string[], input: string | undefined): void {
    const { history } = this.#readline;
    for (const line of lines.toReversed()) if (history[0] === line) history.shift();
    if (input === undefined || input.trim() === "" || history[0] === folded(input)) return;
    history.unshift(folded(input));
  }

  close(): void {
    this.#readline.close();
  }
}
