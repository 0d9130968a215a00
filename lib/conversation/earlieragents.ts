import type { ItemOf } from "../session/item.ts";
import type { LeftAgent } from "../session/leftagents.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import { agentResult, answerNote } from "./agentresult.ts";

/**
 * The greatest number in the ids of agents of earlier runs: more than there are of them where the session of one was
 * removed, or was never made, and the model knows its id.
 */
export function lastAgentNumber(store: Store, session: Session): number {
  const numbers = knownIds(session).map((id) => Number(id.slice(1)));
  return Math.max(store.countAgents(session.info.root), ...numbers);
}

/** Notes on those that were in the background when an earlier run ended. A log without agents is not searched. */
export function leftNotes(store: Store, session: Session): readonly ItemOf<"note">[] {
  if (store.countAgents(session.info.root) + knownIds(session).length === 0) return [];
  return store.leftAgents(session.id).map((left) => leftNote(left, session));
}

/** The ids of agents in the background that the model knows from earlier. */
function knownIds(session: Session): readonly string[] {
  const ids: string[] = [];
  // A loop: every session that is continued asks, and its log may be long.
  for (const item of session.items())
    if (item.kind === "result" && item.background !== undefined) ids.push(item.background);
  return ids;
}

/** An answer that came after its parent was killed is cut as any other. */
function leftNote({ id, session, call, isKept, answer }: LeftAgent, { outputs }: Session): ItemOf<"note"> {
  if (answer !== undefined) {
    const asked = { session, call, outputs };
    return answerNote(`"${id}"`, agentResult({ outcome: { status: "done", text: answer }, files: undefined }, asked));
  }
  const why = isKept ? "was stopped when the earlier run ended, and" : "of the earlier run has left no session, and";
  const text = `[koda: the background agent "${id}" ${why} has no answer.]`;
  return { kind: "note", text, agent: session };
}
