import type { ErrorCode } from "../errors.ts";
import type { EventOf } from "../engine/event.ts";

/** Failures after an answer, and limits before which the model is asked for the best answer so far. */
const withAnswer: ReadonlySet<string> = new Set<ErrorCode>([
  "denied",
  "tool_error",
  "no_change",
  "incomplete",
  "severity",
  "output",
  "max_turns",
  "max_tokens",
  "max_cost",
]);

type LastReply = {
  /** False when it was cut off, or calls followed. */
  isWhole: boolean;
  hasSchema: boolean;
};

/**
 * True when the text of an `end` is the run's answer. A complete last reply of a failed run is none when it was
 * rejected, by the user's check or by koda, or when it has to match a schema: a pipeline must not take it for one.
 */
export function isAnswer(end: EventOf<"end">, { isWhole, hasSchema }: LastReply): boolean {
  const { status, error, verify, incomplete } = end;
  if (status === "done") return true;
  if (!isWhole || hasSchema || verify?.passed === false || !withAnswer.has(error?.code ?? "")) return false;
  // Without reasons it is a reply instead of a call of Finish, which --finish required asks for.
  return error?.code !== "incomplete" || incomplete !== undefined;
}
