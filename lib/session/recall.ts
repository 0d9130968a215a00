import type { Database } from "./database.ts";
import { decodeItem } from "./decode.ts";
import { type ItemRow, selectRows } from "./log.ts";
import { searchSession, type SessionMatch } from "./search.ts";
import { headingOf, passagesOf } from "./transcript.ts";

export type Recall = ReturnType<typeof openRecall>;

const matchesShown = 10;

/** Access to a session's log beyond the messages that the model still has. */
export function openRecall(db: Database, { session }: { session: string }) {
  return {
    /** At most ten matches, best first, each with about 200 characters cut at grapheme boundaries. */
    search(query: string): { where: string; snippet: string }[] {
      const matches = searchSession(db, { session, query, limit: matchesShown });
      return matches.map((match) => ({ where: placeOf(db, session, match), snippet: match.snippet }));
    },
    /** The turn as text: prompt, calls, results, answer. */
    turn(turn: number): string | undefined {
      const rows = rowsOfTurn(db, { session, turn });
      if (rows.length === 0) return undefined;
      const text = [...passagesOf(rows.map((row) => decodeItem(row, { path: db.path, session })))].join("\n\n");
      return isTakenBack(db, session, { turn, seq: rows[0]?.seq ?? 0 }) ? `[${takenBack}]\n\n${text}` : text;
    },
  };
}

const takenBack = "this turn was rolled back";

function placeOf(db: Database, session: string, match: SessionMatch): string {
  if ("output" in match) return `output ${match.output}, line ${match.line}`;
  const { item } = match;
  const where = `turn ${item.turn}, ${item.kind === "result" ? headingOf(item) : item.kind}`;
  return isTakenBack(db, session, item) ? `${where} (${takenBack})` : where;
}

/** After a rollback numbers are used again: the last turn with a number is the one that counts. */
function rowsOfTurn(db: Database, { session, turn }: { session: string; turn: number }): ItemRow[] {
  const start = "SELECT max(seq) FROM item WHERE session = ?1 AND turn = ?2 AND kind = 'turn_start'";
  return db.all<ItemRow>(`${selectRows} AND item.turn = ?2 AND item.seq >= coalesce((${start}), 0) ORDER BY item.seq`, [
    session,
    turn,
  ]);
}

/** The turn of a rollback is the last one that it kept. */
function isTakenBack(db: Database, session: string, { turn, seq }: { turn: number; seq: number }): boolean {
  const later = "SELECT 1 FROM item WHERE session = ? AND kind = 'rollback' AND seq > ? AND turn < ? LIMIT 1";
  return db.get(later, [session, seq, turn]) !== undefined;
}
