import { exitByCode, KodaError, messageOf, type ErrorCode } from "../errors.ts";

export type Failure = { code: ErrorCode; message: string; retryable: boolean; httpStatus?: number };

/** How a run ended. `text` is the answer, or what there was of it. */
export type Outcome =
  | { status: "done"; text: string; output?: unknown }
  | { status: "failed"; text: string; error: Failure }
  | { status: "limit"; text: string; error: Failure }
  | { status: "cancelled"; text: string; error: Failure };

/** Why a run is stopped from outside. It travels as the abort signal's reason, so nobody has to guess afterwards. */
export class Stop extends Error {
  override readonly name = "Stop";
  readonly code: StopCode;

  constructor(code: StopCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type StopCode = "timeout" | "idle_timeout" | "sighup" | "sigint" | "sigterm" | "reader_gone";

const limits: ReadonlySet<ErrorCode> = new Set(["max_turns", "max_tokens", "max_output", "timeout", "idle_timeout"]);
const cancellations: ReadonlySet<ErrorCode> = new Set(["sighup", "sigint", "sigterm", "reader_gone"]);

/** The outcome of anything thrown. A stop outranks the error it caused: an aborted request is not a network failure. */
export function outcomeOfError(error: unknown, signal: AbortSignal, text: string): Outcome {
  const failure = failureOf(signal.aborted && signal.reason instanceof Stop ? signal.reason : error);
  if (limits.has(failure.code)) return { status: "limit", text, error: failure };
  if (cancellations.has(failure.code)) return { status: "cancelled", text, error: failure };
  return { status: "failed", text, error: failure };
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Stop) return { code: error.code, message: error.message, retryable: true };
  if (!(error instanceof KodaError)) return { code: "internal", message: messageOf(error), retryable: false };
  const { code, message, retryable, httpStatus } = error;
  return httpStatus === undefined ? { code, message, retryable } : { code, message, retryable, httpStatus };
}

/** The process's exit code: a function of the outcome and of nothing else. */
export function exitOf(outcome: Outcome): number {
  return outcome.status === "done" ? 0 : exitByCode[outcome.error.code];
}
