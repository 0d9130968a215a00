import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { oneLine } from "../lib/sink/style.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { progressLine } from "./batchfigures.ts";
import { isTerminal } from "./terminal.ts";

const clear = "\r\u001b[K";

/** One line on stderr that is written over: how far a batch is. Nothing without a terminal. */
export class LiveLine {
  readonly #stderr: OutputStream | undefined;
  #isShown = false;

  private constructor(stderr: OutputStream | undefined) {
    this.#stderr = stderr;
  }

  static async open(): Promise<LiveLine> {
    return new LiveLine((await isTerminal(2)) ? new OutputStream(2, "stderr") : undefined);
  }

  get isLive(): boolean {
    return this.#stderr !== undefined;
  }

  async show(overview: BatchOverview): Promise<void> {
    await this.#write(clear + oneLine(progressLine(overview), (process.stderr.columns || 80) - 1));
    this.#isShown = true;
  }

  /** Before anything else is written to the terminal. */
  async clear(): Promise<void> {
    if (this.#isShown) await this.#write(clear);
    this.#isShown = false;
  }

  /** Nothing depends on the line, so errors are ignored. */
  async #write(text: string): Promise<void> {
    await this.#stderr?.write(text).catch(() => undefined);
    await this.#stderr?.flush().catch(() => undefined);
  }
}
