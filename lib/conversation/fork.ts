import type { SessionInfo } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import type { WantedAgent } from "./agentrun.ts";
import { forkName } from "./agenttools.ts";

/** A session with the history of its parent. The calls of the parent that have no result yet are its own affair. */
export function forkOf(history: SessionInfo, { session: id, call: own }: WantedAgent, store: Store): Session {
  const session = store.forkAgent(history, { id, agent: forkName });
  const items = session.items();
  const last = items.findLast((item) => item.kind === "assistant");
  const calls = last?.parts.filter((part) => part.type === "call") ?? [];
  const answered = new Set(items.flatMap((item) => (item.kind === "result" ? [item.call] : [])));
  session.append(
    ...calls
      .filter(({ id }) => !answered.has(id))
      .map(({ id, tool }) => ({
        kind: "result" as const,
        call: id,
        tool,
        ok: true,
        parts: [{ type: "text" as const, text: id === own ? isFork : isElsewhere }],
        durationMs: 0,
      })),
  );
  return session;
}

const isFork = "[koda: you are the agent that this call has started. Your task follows; answer that alone.]";
const isElsewhere = "[koda: this call belongs to the conversation that started you.]";
