import type { Busy } from "./screen.ts";
import { type Paint, seconds } from "./style.ts";

const heartbeatMs = 30_000;
/** Runners that end a silent job do so after ten minutes. */
const mostMs = 300_000;

export type Log = {
  /** When something was written last, by `performance.now()`; Infinity while no line can be added. */
  quietSince(): number;
  addLine(text: string): void;
};

/** A log's spinner: says after a silence that the run goes on, each time after twice the time. */
export class Heartbeat {
  readonly #log: Log;
  readonly #paint: Paint;
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(log: Log, paint: Paint, everyMs = heartbeatMs) {
    this.#log = log;
    this.#paint = paint;
    this.#everyMs = everyMs;
  }

  wait(busy: Busy | undefined): void {
    clearTimeout(this.#timer);
    if (busy !== undefined) this.#arm(busy);
  }

  #arm(busy: Busy): void {
    const now = performance.now();
    const quietSince = Math.min(Math.max(this.#log.quietSince(), busy.since), now);
    const silenceMs = Math.min(Math.max(this.#everyMs, quietSince - busy.since), mostMs);
    this.#timer = setTimeout(() => this.#beat(busy, quietSince), quietSince + silenceMs - now).unref();
  }

  /** Without a pause, so that there is never more than one timer. */
  #beat(busy: Busy, quietSince: number): void {
    const words = `still ${busy.verb} ${busy.what}`.trimEnd();
    if (this.#log.quietSince() <= quietSince)
      this.#log.addLine(this.#paint.dim(`  ${words} (${seconds(performance.now() - busy.since)})`));
    this.#arm(busy);
  }
}
