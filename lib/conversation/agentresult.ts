import type { ItemOf } from "../session/item.ts";
import type { OutputStore } from "../session/outputs.ts";
import { excerptOf } from "../tools/excerpt.ts";
import type { AgentEnd } from "./agentrun.ts";
import { failed, resultText, succeeded, type ToolResult } from "../tools/tool.ts";

type Asked = {
  /** The agent's own. */
  session: string;
  /** The call that started it, and the store of its parent for all of a long answer. */
  call: string;
  outputs: OutputStore;
};

export type AgentResult = ToolResult & { agent: string };

/** The answer of an agent as its parent reads it. */
export function agentResult(end: AgentEnd, { session, ...store }: Asked): AgentResult {
  const { text, output } = excerptOf(agentText(end), store);
  const result = (end.outcome.status === "done" ? succeeded : failed)(text);
  return { ...result, agent: session, ...(output !== undefined && { output }) };
}

/** The answer of an agent in the background as a message, which no call asked for. */
export function answerNote(who: string, { agent, ...result }: AgentResult): ItemOf<"note"> {
  const text = `[koda: the background agent ${who} has ended. Its answer:]\n\n${resultText(result)}`;
  return { kind: "note", text, agent };
}

function agentText({ outcome, files }: AgentEnd): string {
  const { status, text } = outcome;
  if (status === "done") {
    const { incomplete = [] } = outcome;
    return incomplete.length === 0
      ? text
      : `${text}\n\n[koda: the agent may not have finished: ${incomplete.join("; ")}]`;
  }
  if (status === "failed" && files === undefined) return `The agent was not started: ${outcome.error.message}`;
  const partial = text === "" ? "" : `\n\nIts work so far:\n${text}`;
  return `[koda: the agent ${verbs[status]}: ${outcome.error.message}]${partial}`;
}

const verbs = { failed: "failed", limit: "was stopped by a limit", cancelled: "was stopped" } as const;
