import { textOfParts } from "./content.ts";
import type { Database } from "./database.ts";
import { readLive } from "./live.ts";
import { readSessions } from "./log.ts";

/** An agent in the background of an earlier run, whose result no item of the log delivers. */
export type LeftAgent = {
  /** The id by which the model knows it. */
  id: string;
  session: string;
  /** The call that started it. */
  call: string;
  /** False when its session was removed, or never made. */
  isKept: boolean;
  /** Its answer, if it came to its end before the run did. */
  answer: string | undefined;
};

type Row = { seq: number; turn: number; call: string; agent: string; background: string | null };

const selectAgents = `SELECT item.seq, item.turn, content.body ->> '$.agent' AS agent,
    content.body ->> '$.background' AS background, content.body ->> '$.call' AS call
  FROM item JOIN content ON content.id = item.content
  WHERE item.session = ? AND item.kind IN ('note', 'result') AND content.body ->> '$.agent' IS NOT NULL`;

/** Those of turns that were rolled back are forgotten. */
export function leftAgents(db: Database, session: string): LeftAgent[] {
  const rows = db.all<Row>(selectAgents, [session]);
  const rollbacks = db.all<{ seq: number; turn: number }>(
    "SELECT seq, turn FROM item WHERE session = ? AND kind = 'rollback'",
    [session],
  );
  const counts = rows.filter((row) => !rollbacks.some(({ seq, turn }) => seq > row.seq && turn < row.turn));
  const delivered = new Set(counts.flatMap(({ agent, background }) => (background === null ? [agent] : [])));
  return counts.flatMap(({ agent, background, call }) =>
    background === null || delivered.has(agent) ? [] : [{ id: background, session: agent, call, ...fateOf(db, agent) }],
  );
}

function fateOf(db: Database, session: string): Pick<LeftAgent, "isKept" | "answer"> {
  const [info] = readSessions(db, "id = ?", [session]);
  if (info?.ended !== "complete") return { isKept: info !== undefined, answer: undefined };
  const reply = readLive(db, session).findLast((item) => item.kind === "assistant");
  return { isKept: true, answer: reply && textOfParts(reply.parts.filter((part) => part.type === "text")) };
}
