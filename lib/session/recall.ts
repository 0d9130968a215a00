import { textOfItem } from "./content.ts";
import type { Database } from "./database.ts";
import type { LoggedItem } from "./item.ts";

/** A place in this session's log or outputs where the query occurs. */
export type RecallMatch = { where: string; snippet: string };

/** Looking back, past what the model still has in front of it. */
export type Recall = {
  /** At most ten matches, best first, each with about 200 characters cut at grapheme boundaries. */
  search(query: string): readonly RecallMatch[];
  /** The turn as text: prompt, calls, results, answer. */
  turn(turn: number): string | undefined;
};

export function openRecall(
  db: Database,
  { session, items }: { session: string; items: readonly LoggedItem[] },
): Recall {
  void db;
  void session;
  return {
    search: () => [],
    turn(turn) {
      const said = items.filter((item) => item.turn === turn);
      return said.length === 0 ? undefined : said.map(textOfItem).join("\n\n");
    },
  };
}
