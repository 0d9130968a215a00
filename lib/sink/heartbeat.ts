import type { Lines } from "./lines.ts";
import type { Busy } from "./screen.ts";
import { type Paint, seconds } from "./style.ts";

export const heartbeatMs = 30_000;
/** Runners that end a silent job do so after ten minutes. */
const mostMs = 300_000;

/** Says in a log, when nothing else was said for a while, that the run goes on: each time after twice the time. */
export class Heartbeat {
  readonly #lines: Lines;
  readonly #options: { paint: Paint; everyMs: number };
  #busy: Busy | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(lines: Lines, options: { paint: Paint; everyMs: number }) {
    this.#lines = lines;
    this.#options = options;
  }

  wait(busy: Busy | undefined): void {
    this.#busy = busy;
    clearTimeout(this.#timer);
    if (busy !== undefined) this.#arm(busy);
  }

  #arm(busy: Busy): void {
    const { everyMs } = this.#options;
    const quietSince = Math.max(this.#lines.shownAt, busy.since);
    const silenceMs = Math.min(Math.max(everyMs, quietSince - busy.since), mostMs);
    const dueMs = quietSince + silenceMs - performance.now();
    this.#timer = setTimeout(() => void this.#beat(quietSince), dueMs).unref();
  }

  async #beat(quietSince: number): Promise<void> {
    if (this.#busy === undefined) return;
    const { verb, what, since } = this.#busy;
    const words = what === "" ? `still ${verb}` : `still ${verb} ${what}`;
    if (this.#lines.shownAt <= quietSince)
      await this.#lines.line(this.#options.paint.dim(`  ${words} (${seconds(performance.now() - since)})`));
    if (this.#busy !== undefined) this.#arm(this.#busy);
  }
}
