import { searchableText } from "./content.ts";
import type { Database } from "./database.ts";
import { decodeItem } from "./decode.ts";
import { updateIndex } from "./fulltext.ts";
import type { LoggedItem } from "./item.ts";
import { linesOfOutput } from "./lines.ts";
import type { ItemRow } from "./log.ts";
import { idsOf, type Scope } from "./matches.ts";
import { recordingOf, type RecordingRow } from "./outputs.ts";
import { patternsOf, snippetOf } from "./snippet.ts";

/** A match in any log. An output has the place in the log at which it was saved. */
export type SearchMatch = { session: string; seq: number; at: number; kind: string; snippet: string };
/** The best matches, and the number of all. */
export type SearchHits = { matches: SearchMatch[]; total: number };

/** Finds an item that forks share once, in the session that had it first. */
export function searchAll(db: Database, { query, limit }: { query: string; limit: number }): SearchHits {
  const patterns = patternsOf(query);
  const { found, total } = find(db, { query, limit });
  const matches = found.map((match): SearchMatch => {
    const { session, seq, at } = match;
    return match.type === "output"
      ? { session, seq, at, kind: "output", snippet: excerptOf(match, patterns).snippet }
      : { session, seq, at, kind: match.item.kind, snippet: snippetOf(searchableText(match.item), patterns) };
  });
  return { matches, total };
}

/** A match in one session; in an output by its id and line. */
export type SessionMatch = { item: LoggedItem; snippet: string } | { output: string; line: number; snippet: string };

export function searchSession(
  db: Database,
  { session, query, limit }: { session: string; query: string; limit: number },
): SessionMatch[] {
  const patterns = patternsOf(query);
  return find(db, { query, session, limit }).found.map((found): SessionMatch =>
    found.type === "output"
      ? { output: found.output, ...excerptOf(found, patterns) }
      : { item: found.item, snippet: snippetOf(searchableText(found.item), patterns) },
  );
}

/** The first line with the query, or with one of its words, and the lines around it. */
function excerptOf(found: FoundOutput, patterns: readonly RegExp[]): { line: number; snippet: string } {
  const lines = linesOfOutput(recordingOf(found));
  const place = patterns
    .map((pattern) => lines.findIndex(({ text }) => pattern.test(text)))
    .find((index) => index >= 0);
  const index = place ?? 0;
  const around = lines.slice(Math.max(0, index - 1), index + 3).map(({ text }) => text);
  return { line: lines[index]?.number ?? 1, snippet: snippetOf(around.join("\n"), patterns) };
}

type Place = { session: string; seq: number; at: number };
type FoundItem = Place & { type: "item"; item: LoggedItem };
type FoundOutput = Place & { type: "output"; output: string } & RecordingRow;
type Sought = { query: string; session?: string; limit: number };

/** Texts are read only for the matches within the limit: there may be thousands of long ones. */
function find(db: Database, sought: Sought): { found: (FoundItem | FoundOutput)[]; total: number } {
  const { session } = sought;
  const textOf = (row: ItemRow) => searchableText(decodeItem(row, { path: db.path, session }));
  const scope: Scope = session === undefined ? {} : { session };
  updateIndex(db, { ...scope, textOf });
  const { ids, total } = idsOf(db, { ...sought, textOf });
  const found = ids.map((id) => (id > 0 ? itemWith(db, id, scope) : outputWith(db, -id, scope)));
  return { found: found.filter((match) => match !== undefined), total };
}

/** Of the places that forks share: the one in the session, or else the one in the oldest session. */
const firstPlace = "(?2 IS NULL OR session.id = ?2) ORDER BY session.created_at, session.id LIMIT 1";

function itemWith(db: Database, content: number, scope: Scope): FoundItem | undefined {
  const row = db.get<ItemRow & { session: string }>(
    `SELECT item.session, item.seq, item.turn, item.at, content.body FROM item
       JOIN content ON content.id = item.content JOIN session ON session.id = item.session
       WHERE item.content = ?1 AND ${firstPlace}`,
    [content, scope.session ?? null],
  );
  if (row === undefined) return undefined;
  const { session, seq, at } = row;
  return { type: "item", session, seq, at, item: decodeItem(row, { path: db.path, session }) };
}

function outputWith(db: Database, recording: number, { session }: Scope): FoundOutput | undefined {
  const row = db.get<Omit<FoundOutput, "type">>(
    `SELECT output.session, output.seq, output.id AS output, recording.*,
         coalesce((SELECT item.at FROM item WHERE item.session = output.session AND item.seq = output.seq), 0) AS at
       FROM output JOIN recording ON recording.id = output.recording JOIN session ON session.id = output.session
       WHERE output.recording = ?1 AND ${firstPlace}`,
    [recording, session ?? null],
  );
  return row && { type: "output", ...row };
}
