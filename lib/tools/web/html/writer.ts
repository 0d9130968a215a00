/**
 * Writes lines of text: whitespace as a browser shows it, with what every line of a quotation or a list begins with.
 */
export class HtmlLineWriter {
  readonly #limit: number;
  readonly #parts: string[] = [];
  #length = 0;
  #lineLength = 0;
  /** Comes before the next text: nothing (0), a new line (1), an empty line as well (2). */
  #breaks: 0 | 1 | 2 = 0;
  #isSpaced = false;
  #marks = "";
  #isItem = false;
  quotes = 0;
  lists = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#length >= this.#limit;
  }

  /** Does the next text begin a line? */
  get isAtBreak(): boolean {
    return this.#breaks > 0 || this.#length === 0;
  }

  get lineLength(): number {
    return this.#breaks > 0 ? 0 : this.#lineLength;
  }

  write(text: string): void {
    const words = text.replace(spaces, " ");
    if (words.startsWith(" ")) this.#isSpaced = true;
    const trimmed = words.trim();
    if (trimmed === "") return;
    if (this.isAtBreak) this.#startLine();
    else if (this.#isSpaced) this.#add(" ");
    this.#add(trimmed);
    this.#isSpaced = words.endsWith(" ");
  }

  /** Nothing parts a mark from the text that comes: an item's first paragraph begins beside its bullet. */
  break(breaks: 1 | 2): void {
    if (this.#marks !== "") return;
    this.#breaks = this.#breaks === 2 ? 2 : breaks;
    this.#isSpaced = false;
  }

  /** Begins the next line, if there is one: an item's bullet, the sign of a heading. */
  mark(mark: string, { isItem = false } = {}): void {
    this.#marks += mark;
    this.#isItem ||= isItem;
  }

  unmark(): void {
    this.#marks = "";
    this.#isItem = false;
  }

  /** Lines as they are. */
  verbatim(lines: readonly string[]): void {
    for (const line of lines) {
      if (this.isFull) return;
      this.#startLine();
      this.#add(line);
      this.#breaks = 1;
    }
  }

  end(): string {
    return this.#parts.join("").slice(0, this.#limit).toWellFormed();
  }

  #startLine(): void {
    if (this.#length > 0) this.#add("\n".repeat(Math.max(1, this.#breaks)));
    const depth = Math.min(deepest, this.#isItem ? this.lists - 1 : this.lists);
    this.#lineLength = 0;
    this.#add("> ".repeat(Math.min(deepest, this.quotes)) + "  ".repeat(Math.max(0, depth)) + this.#marks);
    this.unmark();
    this.#breaks = 0;
    this.#isSpaced = false;
  }

  #add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    this.#lineLength += text.length;
  }
}

/** Those that a browser runs together, and the one that only keeps two words on a line; not the ideographic one. */
const spaces = /[ \t\n\f\r\u00a0]+/g;

/** A page may be nested deeper; its lines are still to be read. */
const deepest = 8;
