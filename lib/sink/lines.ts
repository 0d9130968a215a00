import type { Screen } from "./screen.ts";
import { plain } from "./style.ts";

/** Lines on stderr, among them such that come in pieces: two speakers never share a line. */
export class Lines {
  readonly #screen: Screen;
  /** Whose line has begun and not ended. */
  #speaker: string | undefined;
  #shownAt = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** When something was shown last, by `performance.now()`. */
  get shownAt(): number {
    return this.#shownAt;
  }

  async line(text: string): Promise<void> {
    this.#shownAt = performance.now();
    await this.#screen.toStderr(`${this.#break()}${text}\n`);
  }

  /** A piece of what `speaker` says; each of its lines begins with `margin` and is painted on its own. */
  async piece(speaker: string, text: string, { margin, paint }: PieceStyle): Promise<void> {
    const opening = this.#speaker === speaker ? "" : `${this.#break()}${margin}`;
    const lines = plain(text).split("\n");
    const last = lines.pop() ?? "";
    const whole = lines.map((line) => `${paint(line)}\n`).join(margin);
    // The margin of a line is written with its first piece, so that nothing is left standing after the last one.
    const rest = last === "" ? "" : `${whole === "" ? "" : margin}${paint(last)}`;
    this.#shownAt = performance.now();
    this.#speaker = last === "" && whole !== "" ? undefined : speaker;
    await this.#screen.toStderr(`${opening}${whole}${rest}`);
  }

  #break(): string {
    const isOpen = this.#speaker !== undefined;
    this.#speaker = undefined;
    return isOpen ? "\n" : "";
  }
}

export type PieceStyle = { margin: string; paint: (line: string) => string };
