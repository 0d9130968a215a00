import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";

type TimeLimits = { timeoutMs: number | undefined; idleTimeoutMs: number | undefined };

/** The time limits. Each aborts the controller with its own reason. */
export class Clocks {
  readonly #controller: AbortController;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #idle: IdleTimer | undefined;

  constructor(controller: AbortController) {
    this.#controller = controller;
  }

  start({ timeoutMs, idleTimeoutMs }: TimeLimits): void {
    if (timeoutMs !== undefined)
      this.#timer = setTimeout(
        () => this.#stop("timeout", `The run took longer than ${formatDuration(timeoutMs)} (--timeout)`),
        timeoutMs,
      );
    if (idleTimeoutMs !== undefined)
      this.#idle = new IdleTimer(idleTimeoutMs, () =>
        this.#stop(
          "idle_timeout",
          `No output from the model or a tool for ${formatDuration(idleTimeoutMs)} (--idle-timeout)`,
        ),
      );
  }

  /** Restarts the idle clock: the model or a tool sent something. */
  heard(): void {
    this.#idle?.heard();
  }

  /** Stops the idle clock until the result is disposed. */
  pauseIdle(): Disposable {
    const idle = this.#idle;
    idle?.pause();
    return { [Symbol.dispose]: () => idle?.resume() };
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#idle?.stop();
  }

  #stop(code: "timeout" | "idle_timeout", message: string): void {
    this.#controller.abort(new KodaError(code, message, { retryable: true }));
  }
}

/** Calls back once, after this time without a call of `heard`. */
class IdleTimer {
  readonly #ms: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #heardAt = performance.now();
  /** The pauses that have not ended. */
  #pauses = 0;

  constructor(ms: number, onSilence: () => void) {
    this.#ms = ms;
    // `heard` is called for every delta, so it must not restart a timer.
    const every = Math.max(10, Math.min(1000, ms / 10));
    this.#timer = setInterval(() => {
      if (this.#pauses > 0 || performance.now() - this.#heardAt < this.#ms) return;
      this.stop();
      onSilence();
    }, every);
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  pause(): void {
    this.#pauses++;
  }

  resume(): void {
    this.#pauses--;
    this.heard();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
