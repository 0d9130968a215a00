/** Text that keeps its lines, collected until it is over. */
export class Verbatim {
  readonly #parts: string[] = [];
  #endsLine = true;
  #language: string;

  constructor(language: string) {
    this.#language = language;
  }

  /** The first that is named counts. */
  set language(language: string) {
    this.#language ||= language;
  }

  add(text: string): void {
    if (text === "") return;
    this.#parts.push(text);
    this.#endsLine = text.endsWith("\n");
  }

  endLine(): void {
    if (!this.#endsLine) this.add("\n");
  }

  /** Between fences longer than any in the text; none where there is no text. */
  lines(): readonly string[] {
    const text = this.#parts
      .join("")
      .replace(/^\r?\n/, "")
      .trimEnd();
    if (text === "") return [];
    const longest = text.match(/`{3,}/g)?.reduce((most, run) => Math.max(most, run.length), 2) ?? 2;
    const fence = "`".repeat(longest + 1);
    return [fence + this.#language, ...text.split(/\r?\n/), fence];
  }
}
