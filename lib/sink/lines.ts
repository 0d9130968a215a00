import type { Screen } from "./screen.ts";
import { plain } from "./style.ts";

type PieceStyle = { margin: string; paint: (line: string) => string };

/** Writes lines to stderr, some of them in pieces: two sources never share a line. */
export class LineWriter {
  readonly #screen: Screen;
  /** The source of the unfinished line, if there is one. */
  #source: string | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  async line(text: string): Promise<void> {
    await this.#screen.toStderr(`${this.#break()}${text}\n`);
  }

  /** Writes a piece of a source's text; each line begins with `margin` and is painted by itself. */
  async piece(source: string, text: string, { margin, paint }: PieceStyle): Promise<void> {
    const continues = this.#screen.stderrIsOpen && this.#source === source;
    const opening = continues ? "" : `${this.#break()}${margin}`;
    const lines = plain(text).split("\n");
    const last = lines.pop() ?? "";
    const whole = lines.map((line) => `${paint(line)}\n`).join(margin);
    // The margin of a line comes with its first piece, so that none follows the last line.
    const rest = last === "" ? "" : `${whole === "" ? "" : margin}${paint(last)}`;
    this.#source = source;
    await this.#screen.toStderr(`${opening}${whole}${rest}`);
  }

  #break(): string {
    return this.#screen.stderrIsOpen ? "\n" : "";
  }
}
