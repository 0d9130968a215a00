import { searchableText } from "./content.ts";
import type { Database } from "./database.ts";
import type { DecodeItem } from "./decode.ts";
import { type TextOf, updateIndex } from "./fulltext.ts";
import type { ItemKind, LoggedItem } from "./item.ts";
import { linesOfOutput } from "./lines.ts";
import type { ItemRow } from "./log.ts";
import { recordingOf, type RecordingRow } from "./outputs.ts";
import { patternsOf, snippetOf, wordsOf } from "./snippet.ts";

/** A match in any log. An output has the place in the log at which it was saved. */
export type SearchMatch = { session: string; seq: number; at: number; kind: string; snippet: string };
/** The best matches, and the number of all. */
export type SearchHits = { matches: SearchMatch[]; total: number };

/** Finds an item that forks share once, in the session that had it first. */
export function searchAll(
  db: Database,
  { query, limit }: { query: string; limit: number },
  decode: DecodeItem,
): SearchHits {
  const patterns = patternsOf(query);
  const textOf = (item: ItemRow) => searchableText(decode(db.path, item));
  const { found, total } = find(db, { query, limit, textOf });
  const matches = found.map((match): SearchMatch => {
    const { session, seq, at } = match;
    return match.type === "output"
      ? { session, seq, at, kind: "output", snippet: excerptOf(match, patterns).snippet }
      : { session, seq, at, kind: match.kind, snippet: snippetOf(textOf(match), patterns) };
  });
  return { matches, total };
}

/** A match in one session; in an output by its id and line. */
export type SessionMatch = { item: LoggedItem; snippet: string } | { output: string; line: number; snippet: string };

export function searchSession(
  db: Database,
  { session, items, query, limit }: { session: string; items: readonly LoggedItem[]; query: string; limit: number },
): SessionMatch[] {
  const patterns = patternsOf(query);
  const textOf = ({ seq }: ItemRow) => searchableText(itemAt(items, seq));
  return find(db, { query, session, limit, textOf }).found.map((found): SessionMatch =>
    found.type === "output"
      ? { output: found.output, ...excerptOf(found, patterns) }
      : { item: itemAt(items, found.seq), snippet: snippetOf(textOf(found), patterns) },
  );
}

/** The log in memory equals the one on disk: only this process adds to it. */
function itemAt(items: readonly LoggedItem[], seq: number): LoggedItem {
  const item = items[seq - 1];
  if (item === undefined) throw new Error(`item ${seq} was found, but the log has ${items.length}`);
  return item;
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

type FoundItem = ItemRow & { type: "item"; session: string; kind: ItemKind; rank: number; total: number };
type FoundOutput = RecordingRow & {
  type: "output";
  session: string;
  seq: number;
  at: number;
  output: string;
  rank: number;
  total: number;
};
type Found = { found: (FoundItem | FoundOutput)[]; total: number };
type Sought = { query: string; session?: string; limit: number; textOf: TextOf };

/** Searches for all words, else for any of them, else for the literal text, which may not be words of the index. */
function find(db: Database, sought: Sought): Found {
  const words = wordsOf(sought.query).filter((word) => /[\p{L}\p{N}]/u.test(word));
  updateIndex(db, sought);
  for (const operator of [" AND ", " OR "]) {
    if (words.length === 0) break;
    const indexed = findIndexed(db, words.map(prefixed).join(operator), sought);
    if (indexed.total > 0) return indexed;
  }
  return sought.query.trim() === "" ? { found: [], total: 0 } : findLiterally(db, sought);
}

/** A word of the query may be several words of the index (`run_tests`): in a phrase they follow each other. */
function prefixed(word: string): string {
  return `"${word.replaceAll('"', '""')}"*`;
}

function findIndexed(db: Database, match: string, { session, limit }: Sought): Found {
  const values = [match, session ?? null, limit];
  const items = db.all<FoundItem>(
    itemsAmong(`SELECT ${itemPlace}, search.rank AS rank, ${total}
       FROM search JOIN item ON item.content = search.rowid
       WHERE search MATCH ?1 AND ${isFirstItem} ORDER BY search.rank LIMIT ?3`),
    values,
  );
  const outputs = db.all<FoundOutput>(
    outputsAmong(`SELECT ${outputPlace}, search.rank AS rank, ${total}
       FROM search JOIN output ON output.recording = -search.rowid
       WHERE search MATCH ?1 AND ${isFirstOutput} ORDER BY search.rank LIMIT ?3`),
    values,
  );
  const found = [...items, ...outputs].sort((a, b) => a.rank - b.rank).slice(0, limit);
  return { found, total: totalOf(items) + totalOf(outputs) };
}

/** The newest first, for lack of a rank. Bodies are JSON, so the text is searched in its JSON form. */
function findLiterally(db: Database, { query, session, limit, textOf }: Sought): Found {
  const asJson = JSON.stringify(query.trim()).slice(1, -1);
  const items = db.all<FoundItem>(
    itemsAmong(`SELECT ${itemPlace}, -content.id AS rank, ${total} FROM item JOIN content ON content.id = item.content
       WHERE instr(content.body, ?1) > 0 AND ${isFirstItem} ORDER BY content.id DESC LIMIT ?3`),
    [asJson, session ?? null, limit],
  );
  const outputs = db.all<FoundOutput>(
    outputsAmong(`SELECT ${outputPlace}, -recording.id AS rank, ${total}
       FROM output JOIN recording ON recording.id = output.recording
       WHERE max(instr(stdout_head, ?1), instr(stdout_tail, ?1), instr(stderr_head, ?1), instr(stderr_tail, ?1)) > 0
         AND ${isFirstOutput} ORDER BY recording.id DESC LIMIT ?3`),
    [new TextEncoder().encode(query.trim()), session ?? null, limit],
  );
  // A body also has keys and ids, which are not part of the text.
  const said = items.filter((item) => textOf(item).includes(query.trim()));
  const unsaid = items.length - said.length;
  return { found: [...said, ...outputs].slice(0, limit), total: totalOf(items) - unsaid + totalOf(outputs) };
}

const itemPlace = "item.session, item.seq, item.turn, item.kind, item.at, item.content";
const outputPlace = "output.session, output.seq, output.id AS output, output.recording";

/** The number of matches before the limit. */
const total = "count(*) OVER () AS total";

/** Texts are read only for the matches within the limit: there may be thousands of long ones. */
function itemsAmong(hits: string): string {
  return `SELECT 'item' AS type, hit.*, content.body
    FROM (${hits}) AS hit JOIN content ON content.id = hit.content ORDER BY hit.rank`;
}

function outputsAmong(hits: string): string {
  return `SELECT 'output' AS type, hit.session, hit.seq, hit.output, hit.rank, hit.total, recording.*,
      coalesce((SELECT item.at FROM item WHERE item.session = hit.session AND item.seq = hit.seq), 0) AS at
    FROM (${hits}) AS hit JOIN recording ON recording.id = hit.recording ORDER BY hit.rank`;
}

function totalOf(rows: readonly { total: number }[]): number {
  return rows[0]?.total ?? 0;
}

/**
 * With a session (?2) its own places count; without one, the oldest of the places that forks share. Environments are
 * left out: they are alike in all sessions.
 */
const isFirstItem = `item.kind <> 'environment' AND CASE WHEN ?2 IS NOT NULL THEN item.session = ?2 ELSE
  item.session = (SELECT s.id FROM item AS i JOIN session AS s ON s.id = i.session
    WHERE i.content = item.content ORDER BY s.created_at, s.id LIMIT 1) END`;
const isFirstOutput = `CASE WHEN ?2 IS NOT NULL THEN output.session = ?2 ELSE output.session = (
  SELECT s.id FROM output AS o JOIN session AS s ON s.id = o.session
    WHERE o.recording = output.recording ORDER BY s.created_at, s.id LIMIT 1) END`;
