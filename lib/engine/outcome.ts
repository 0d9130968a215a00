import { exitByCode, KodaError, messageOf, type ErrorCode } from "../errors.ts";

export type Failure = { code: ErrorCode; message: string; retryable: boolean; httpStatus?: number; retryAt?: string };

/** The outcome of a turn or run. `text` is the answer as far as it came; `incomplete` says why it may be none. */
export type Outcome =
  | { status: "done"; text: string; output?: unknown; incomplete?: readonly string[] }
  | { status: "failed"; text: string; output?: unknown; error: Failure; incomplete?: readonly string[] }
  | { status: "limit"; text: string; error: Failure }
  | { status: "cancelled"; text: string; error: Failure };

const limits: ReadonlySet<ErrorCode> = new Set([
  "max_turns",
  "max_tokens",
  "max_cost",
  "max_output",
  "timeout",
  "idle_timeout",
]);
const cancellations: ReadonlySet<ErrorCode> = new Set([
  "sighup",
  "sigint",
  "sigterm",
  "reader_gone",
  "stopped",
  "interrupted",
]);

/**
 * The outcome of anything thrown. The signal's reason says why a run was stopped and outranks the error that the stop
 * caused: a request cut off by the time limit is not a network failure.
 */
export function outcomeOfError(error: unknown, signal: AbortSignal, text: string): Outcome {
  return outcomeOfFailure(
    failureOf(signal.aborted && signal.reason instanceof KodaError ? signal.reason : error),
    text,
  );
}

/** The outcome of a run that fails while it is being closed. An earlier failure is kept. */
export function failedAfterwards(outcome: Outcome, error: unknown): Outcome {
  return outcome.status === "done" ? outcomeOfFailure(failureOf(error), outcome.text) : outcome;
}

/** The status that belongs to a failure. */
export function outcomeOfFailure(failure: Failure, text: string): Outcome {
  if (limits.has(failure.code)) return { status: "limit", text, error: failure };
  if (cancellations.has(failure.code)) return { status: "cancelled", text, error: failure };
  return { status: "failed", text, error: failure };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof KodaError)) return { code: "internal", message: messageOf(error), retryable: false };
  const { code, message, retryable, httpStatus, retryAt } = error;
  return {
    code,
    message,
    retryable,
    ...(httpStatus !== undefined && { httpStatus }),
    ...(retryAt !== undefined && { retryAt }),
  };
}

/** The process's exit code, which depends on the outcome alone. */
export function exitOf(outcome: Outcome): number {
  return outcome.status === "done" ? 0 : exitByCode[outcome.error.code];
}
