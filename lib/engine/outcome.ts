import { exitByCode, KodaError, messageOf, type ErrorCode } from "../errors.ts";

export type Failure = { code: ErrorCode; message: string; retryable: boolean; httpStatus?: number };

/** How a run ended. `text` is the answer, or what there was of it. */
export type Outcome =
  | { status: "done"; text: string; output?: unknown }
  | { status: "failed"; text: string; error: Failure }
  | { status: "limit"; text: string; error: Failure }
  | { status: "cancelled"; text: string; error: Failure };

const limits: ReadonlySet<ErrorCode> = new Set(["max_turns", "max_tokens", "max_output", "timeout", "idle_timeout"]);
const cancellations: ReadonlySet<ErrorCode> = new Set(["sighup", "sigint", "sigterm", "reader_gone"]);

/**
 * The outcome of anything thrown. Whoever stops a run says why in the signal's reason, and that outranks the error it
 * caused: a request that broke off at the time limit is no network failure.
 */
export function outcomeOfError(error: unknown, signal: AbortSignal, text: string): Outcome {
  return outcomeOfFailure(
    failureOf(signal.aborted && signal.reason instanceof KodaError ? signal.reason : error),
    text,
  );
}

/** The outcome of a run that fails while it is being closed. An earlier failure stays the one that is told. */
export function failedAfterwards(outcome: Outcome, error: unknown): Outcome {
  return outcome.status === "done" ? outcomeOfFailure(failureOf(error), outcome.text) : outcome;
}

/** Which kind of end a failure is. */
export function outcomeOfFailure(failure: Failure, text: string): Outcome {
  if (limits.has(failure.code)) return { status: "limit", text, error: failure };
  if (cancellations.has(failure.code)) return { status: "cancelled", text, error: failure };
  return { status: "failed", text, error: failure };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof KodaError)) return { code: "internal", message: messageOf(error), retryable: false };
  const { code, message, retryable, httpStatus } = error;
  return httpStatus === undefined ? { code, message, retryable } : { code, message, retryable, httpStatus };
}

/** The process's exit code: a function of the outcome and of nothing else. */
export function exitOf(outcome: Outcome): number {
  return outcome.status === "done" ? 0 : exitByCode[outcome.error.code];
}
