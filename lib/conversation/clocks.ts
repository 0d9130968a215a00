import { IdleTimer } from "../async/idle.ts";
import { KodaError } from "../errors.ts";

export type TimeLimits = { timeoutMs: number | undefined; idleTimeoutMs: number | undefined };

/** The limits in time. Each stops the run by its controller and says which it was. */
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
        () => this.#stop("timeout", `The run took longer than ${shown(timeoutMs)} (--timeout)`),
        timeoutMs,
      );
    if (idleTimeoutMs !== undefined)
      this.#idle = new IdleTimer(idleTimeoutMs, () =>
        this.#stop("idle_timeout", `No output from the model or a tool for ${shown(idleTimeoutMs)} (--idle-timeout)`),
      );
  }

  /** The model or a tool gave a sign of life. */
  heard(): void {
    this.#idle?.heard();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#idle?.stop();
  }

  #stop(code: "timeout" | "idle_timeout", message: string): void {
    this.#controller.abort(new KodaError(code, message, { retryable: true }));
  }
}

function shown(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}
