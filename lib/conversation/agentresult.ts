import type { Outcome } from "../engine/outcome.ts";
import type { OutputStore } from "../session/outputs.ts";
import { excerptOf } from "../tools/web/excerpt.ts";
import { failed, succeeded, type ToolResult } from "../tools/tool.ts";

type Asked = {
  /** The agent's own. */
  session: string;
  /** The call that started it, and the store of its parent for all of a long answer. */
  call: string;
  outputs: OutputStore;
};

/** The answer of an agent as its parent reads it. */
export function agentResult(outcome: Outcome, { session, ...store }: Asked): ToolResult {
  const { text, output } = excerptOf(agentText(outcome), store);
  const result = (outcome.status === "done" ? succeeded : failed)(text);
  return { ...result, agent: session, ...(output !== undefined && { output }) };
}

function agentText(outcome: Outcome): string {
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
