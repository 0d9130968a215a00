import type { Failure } from "./outcome.ts";

/** The verdict on what may end a turn: it is the answer, the model is asked again, or the run has failed. */
export type AnswerJudgement =
  | { kind: "answer"; text: string; output?: unknown; incomplete?: readonly string[] }
  | { kind: "again"; note: string }
  | { kind: "failed"; error: Failure; text?: string };

export function askAgain(note: string): AnswerJudgement {
  return { kind: "again", note };
}

/** `text` is what the run has to say instead of an answer, if anything. */
export function giveUp(code: Failure["code"], message: string, text?: string): AnswerJudgement {
  return { kind: "failed", error: { code, message, retryable: false }, ...(text !== undefined && { text }) };
}
