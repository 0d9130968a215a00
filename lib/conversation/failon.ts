import { counted } from "../counted.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { Conversation } from "./conversation.ts";

/** Outcomes that --fail-on turns into exit code 3; each is the error code. */
export type FailOn = "denied" | "tool_error" | "no_change" | "incomplete";

/** A completed turn fails when it had an outcome that the user named with --fail-on. */
export function withFailOn(outcome: Outcome, failOn: readonly FailOn[], conversation: Conversation): Outcome {
  if (outcome.status !== "done") return outcome;
  const { text, incomplete } = outcome;
  for (const code of failOn) {
    const found = finding(code, outcome, conversation);
    if (found === undefined) continue;
    const message = `${found}, and --fail-on ${code.replace("_", "-")} is set`;
    const error = { code, message, retryable: false };
    return { status: "failed", text, error, ...(incomplete && { incomplete }) };
  }
  return outcome;
}

function finding(
  name: FailOn,
  { incomplete }: Extract<Outcome, { status: "done" }>,
  { changes: { hasAny }, parts }: Conversation,
): string | undefined {
  const { denied, failed } = parts.ledger.calls;
  switch (name) {
    case "denied":
      return denied > 0 ? counted(denied, "denied tool call") : undefined;
    case "tool_error":
      return failed > 0 ? counted(failed, "failed tool call") : undefined;
    case "no_change":
      if (hasAny === undefined) return "The changes of the run could not be determined";
      return hasAny ? undefined : "The run changed no file of the project";
    case "incomplete":
      return incomplete && `The task may not be finished (${incomplete.join("; ")})`;
    default:
      return name satisfies never;
  }
}
