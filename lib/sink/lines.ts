import type { Screen } from "./screen.ts";
import { plain } from "./style.ts";

/** Lines on stderr, among them such that come in pieces: two speakers never share a line. */
export class Lines {
  readonly #screen: Screen;
  /** The call that began the open line, if there is one. */
  #speaker: string | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  async line(text: string): Promise<void> {
    await this.#screen.toStderr(`${this.#break()}${text}\n`);
  }

  /** A piece of what `speaker` says; each of its lines begins with `margin` and is painted on its own. */
  async piece(speaker: string, text: string, { margin, paint }: PieceStyle): Promise<void> {
    const goesOn = this.#screen.stderrIsOpen && this.#speaker === speaker;
    const opening = goesOn ? "" : `${this.#break()}${margin}`;
    const lines = plain(text).split("\n");
    const last = lines.pop() ?? "";
    const whole = lines.map((line) => `${paint(line)}\n`).join(margin);
    // The margin of a line is written with its first piece, so that nothing is left standing after the last one.
    const rest = last === "" ? "" : `${whole === "" ? "" : margin}${paint(last)}`;
    this.#speaker = speaker;
    await this.#screen.toStderr(`${opening}${whole}${rest}`);
  }

  #break(): string {
    return this.#screen.stderrIsOpen ? "\n" : "";
  }
}

export type PieceStyle = { margin: string; paint: (line: string) => string };
