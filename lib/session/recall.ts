import type { Database } from "./database.ts";
import type { LoggedItem } from "./item.ts";
import { searchSession, type SessionMatch } from "./search.ts";
import { headingOf, transcriptOf } from "./transcript.ts";

export type Recall = ReturnType<typeof openRecall>;

const matchesShown = 10;

/**
 * Access to a session's log beyond the messages that the model still has. `items` is the log, which grows while the
 * session is open.
 */
export function openRecall(db: Database, { session, items }: { session: string; items: readonly LoggedItem[] }) {
  return {
    /** At most ten matches, best first, each with about 200 characters cut at grapheme boundaries. */
    search(query: string): { where: string; snippet: string }[] {
      const matches = searchSession(db, { session, items, query, limit: matchesShown });
      return matches.map((match) => ({ where: placeOf(match), snippet: match.snippet }));
    },
    /** The turn as text: prompt, calls, results, answer. */
    turn(turn: number): string | undefined {
      const said = items.filter((item) => item.turn === turn);
      return said.length === 0 ? undefined : transcriptOf(said);
    },
  };
}

function placeOf(match: SessionMatch): string {
  if ("output" in match) return `output ${match.output}, line ${match.line}`;
  const { item } = match;
  return `turn ${item.turn}, ${item.kind === "result" ? headingOf(item) : item.kind}`;
}
