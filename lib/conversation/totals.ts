import type { Totals } from "../engine/end.ts";
import { costOf } from "../engine/ledger.ts";
import type { Verification } from "../engine/verify.ts";
import { executableChanges } from "../worktree/executable.ts";
import type { Conversation } from "./conversation.ts";

export type ConversationTotals = Omit<Totals, "durationMs">;

/** The use and the changes of all turns of a conversation. */
export function totalsOf(
  { parts, stance, changes, agents }: Conversation,
  verification: Verification | undefined,
): ConversationTotals {
  const { ledger, session, servers, resume } = parts;
  const cost = costOf(ledger, stance.info.price);
  return {
    session: session.id,
    usage: { ...ledger.usage, ...(cost !== undefined && { cost_usd: cost }) },
    tools: ledger.calls,
    filesChanged: changes.paths.size,
    executableChanges: allExecutableChanges({ parts, changes }),
    ...(verification !== undefined && { verify: outcomeOf(verification) }),
    agents: agents.counts,
    mcp: servers.missing,
    resume: session.isEmpty ? null : resume,
  };
}

/** With those of earlier conversations of the chat. */
function allExecutableChanges({
  parts: { workspace, earlier },
  changes,
}: Pick<Conversation, "parts" | "changes">): Totals["executableChanges"] {
  const now = executableChanges([...changes.paths, ...workspace.repositories.changedConfig()]);
  const known = new Set(now.map(({ path }) => path));
  return [...(earlier?.executable.filter(({ path }) => !known.has(path)) ?? []), ...now];
}

function outcomeOf({ command, passed, attempts }: Verification): NonNullable<Totals["verify"]> {
  return { command, passed, attempts };
}
