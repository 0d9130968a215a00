import type { Database } from "./database.ts";
import type { LoggedItem } from "./item.ts";
import { searchSession, type SessionMatch } from "./search.ts";
import { headingOf, transcriptOf } from "./transcript.ts";

/** A place in this session's log or outputs where the query occurs. */
type RecallMatch = { where: string; snippet: string };

/** Access to this session's log beyond the messages that the model still has. */
export type Recall = {
  /** At most ten matches, best first, each with about 200 characters cut at grapheme boundaries. */
  search(query: string): readonly RecallMatch[];
  /** The turn as text: prompt, calls, results, answer. */
  turn(turn: number): string | undefined;
};

const matchesShown = 10;

/** `items` is the session's own log, which grows while it is open. */
export function openRecall(
  db: Database,
  { session, items }: { session: string; items: readonly LoggedItem[] },
): Recall {
  return {
    search: (query) =>
      searchSession(db, { session, items, query, limit: matchesShown }).map((match) => ({
        where: placeOf(match),
        snippet: match.snippet,
      })),
    turn(turn) {
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
