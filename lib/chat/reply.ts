import { failureField } from "../engine/end.ts";
import type { EventOf } from "../engine/event.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { ErrorCode } from "../errors.ts";

/** The outcome of a submission. */
export type SubmissionReply = Omit<EventOf<"reply">, "type" | "submission">;

export function replyTo(id: string, reply: SubmissionReply): EventOf<"reply"> {
  return { type: "reply", submission: id, ...reply };
}

export const done = (result?: unknown): SubmissionReply => ({
  status: "done",
  ...(result !== undefined && { result }),
});

export function refused(code: ErrorCode, message: string): SubmissionReply {
  return { status: "failed", error: { code, message, retryable: false } };
}

export function cancelled(message: string, code: "stopped" | "interrupted" = "stopped"): SubmissionReply {
  return { status: "cancelled", error: { code, message, retryable: true } };
}

/** That of an input or a review, by the outcome of its turn; where there was nothing to review there was none. */
export function ofTurn(outcome: Outcome, turn: number | undefined): SubmissionReply {
  const { text } = outcome;
  const answer = {
    ...("output" in outcome && { output: outcome.output }),
    ...("incomplete" in outcome && { incomplete: outcome.incomplete }),
  };
  return { ...byOutcome(outcome), result: { ...(turn !== undefined && { turn }), text, ...answer } };
}

export function byOutcome(outcome: Outcome): SubmissionReply {
  const { status } = outcome;
  return status === "done" ? { status } : { status, error: failureField(outcome.error) };
}
