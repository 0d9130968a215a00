import { formatElapsed } from "../config/units.ts";
import type { Activity } from "./screen.ts";
import type { Paint } from "./style.ts";

const heartbeatMs = 30_000;
/** CI runners stop a job that is silent for ten minutes. */
const longestSilenceMs = 300_000;

type Log = {
  /** The time of the last line by `performance.now()`; Infinity while no line may be added. */
  quietSince(): number;
  addLine(text: string): void;
};

/** A log's spinner: after a silence a line says that the run goes on, each time after twice as long. */
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

  wait(activity: Activity | undefined): void {
    clearTimeout(this.#timer);
    if (activity !== undefined) this.#arm(activity);
  }

  #arm(activity: Activity): void {
    const now = performance.now();
    const quietSince = Math.min(Math.max(this.#log.quietSince(), activity.since), now);
    const silenceMs = Math.min(Math.max(this.#everyMs, quietSince - activity.since), longestSilenceMs);
    // It is too late already when something else held up the process.
    const restMs = Math.max(0, quietSince + silenceMs - now);
    this.#timer = setTimeout(() => this.#beat(activity, quietSince), restMs).unref();
  }

  /** Synchronous, so that there is never more than one timer. */
  #beat(activity: Activity, quietSince: number): void {
    const words = `still ${activity.verb} ${activity.what}`.trimEnd();
    if (this.#log.quietSince() <= quietSince)
      this.#log.addLine(this.#paint.dim(`  ${words} (${formatElapsed(performance.now() - activity.since)})`));
    this.#arm(activity);
  }
}
