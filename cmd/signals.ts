import { type ErrorCode, exitByCode, KodaError } from "../lib/errors.ts";

const signals = { SIGHUP: "sighup", SIGINT: "sigint", SIGTERM: "sigterm" } as const satisfies Record<string, ErrorCode>;

export type StopSignal = keyof typeof signals;

/** The way for signals to end a run. */
export type Stopper = {
  readonly controller: AbortController;
  /** Called when there is no time to stop properly. */
  killNow: () => void;
  /** Takes all signals once it is set: they are for the command that koda stands in for. */
  relay?: (signal: NodeJS.Signals) => void;
};

/**
 * The first signal asks the run to stop, which then says so in its own words. The second one means now: what runs is
 * killed and the process leaves, without its last line.
 */
export function stopOnSignals(leave: (code: number) => never): Stopper {
  const stopper: Stopper = { controller: new AbortController(), killNow: () => {} };
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
    const code = signals[signal];
    process.on(signal, () => {
      if (stopper.relay !== undefined) return stopper.relay(signal);
      if (stopper.controller.signal.aborted) {
        stopper.killNow();
        leave(exitByCode[code]);
      }
      stopper.controller.abort(new KodaError(code, `Stopped by ${signal}`, { retryable: true }));
    });
  }
  return stopper;
}
