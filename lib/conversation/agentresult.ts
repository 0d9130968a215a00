import type { Outcome } from "../engine/outcome.ts";
import { failed, succeeded, type ToolResult } from "../tools/tool.ts";

/** The answer of an agent as its parent reads it. `session` is the agent's own. */
export function agentResult(outcome: Outcome, session: string): ToolResult {
  return { ...(outcome.status === "done" ? succeeded : failed)(agentText(outcome)), agent: session };
}

export function agentText(outcome: Outcome): string {
  const { status, text } = outcome;
  if (status === "done") {
    const { incomplete = [] } = outcome;
    return incomplete.length === 0
      ? text
      : `${text}\n\n[koda: the agent may not have finished: ${incomplete.join("; ")}]`;
  }
  const partial = text === "" ? "" : `\n\nIts work so far:\n${text}`;
  return `[koda: the agent ${verbs[status]}: ${outcome.error.message}]${partial}`;
}

const verbs = { failed: "failed", limit: "was stopped by a limit", cancelled: "was stopped" } as const;
