import { type ErrorCode, exitByCode, KodaError } from "../lib/errors.ts";

const signals = { SIGHUP: "sighup", SIGINT: "sigint", SIGTERM: "sigterm" } as const satisfies Record<string, ErrorCode>;

/** Stops a run on signals. */
export type Stopper = {
  readonly controller: AbortController;
  /** Called when there is no time to stop properly. */
  killNow: () => void;
  /** Receives every signal once it is set, to pass it on to a command. */
  relay?: (signal: NodeJS.Signals) => void;
};

/** Signals this close together are one: `timeout` signals koda and then its group, npm passes Ctrl-C on. */
const togetherMs = 100;

/**
 * The first signal stops the run, which reports it in its end event. Another one later kills everything and exits at
 * once, without an end event.
 */
export function stopOnSignals(leave: (code: number) => never): Stopper {
  const stopper: Stopper = { controller: new AbortController(), killNow: () => {} };
  let firstAt = -Infinity;
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
    const code = signals[signal];
    process.on(signal, () => {
      if (stopper.relay !== undefined) return stopper.relay(signal);
      if (performance.now() - firstAt < togetherMs) return;
      if (stopper.controller.signal.aborted) {
        stopper.killNow();
        leave(exitByCode[code]);
      }
      firstAt = performance.now();
      stopper.controller.abort(new KodaError(code, `Stopped by ${signal}`, { retryable: true }));
    });
  }
  return stopper;
}
