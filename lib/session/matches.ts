import type { Database } from "./database.ts";
import { type TextOf, wordsWith } from "./fulltext.ts";
import type { ItemRow } from "./log.ts";
import { wordsOf } from "./snippet.ts";
import { type Term, termOf } from "./terms.ts";

/** One session, or all. */
export type Scope = { session?: string };

/** Ids of content, and negated ids of recordings, best first; the number of all matches of a search in all sessions. */
type MatchingIds = { ids: number[]; total: number };

type Sought = Scope & { query: string; limit: number; textOf: TextOf };

/**
 * Looks for the words as they stand, then for all of them in any order, then for all of them as parts of words; when
 * nothing has all, and for a question, for any of them. A query without letters and digits is looked for literally.
 */
export function idsOf(db: Database, sought: Sought): MatchingIds {
  const words = wordsOf(sought.query);
  const terms = words.map(termOf).filter((term) => term !== undefined);
  if (terms.length > 0) return idsWithTerms(db, terms, sought);
  return words.length === 0 ? { ids: [], total: 0 } : idsWithText(db, sought);
}

function idsWithTerms(db: Database, terms: readonly Term[], { session, limit }: Sought): MatchingIds {
  const range = session === undefined ? undefined : rangeOf(db, session);
  const ids = new Set<number>();
  const look = (expression: string, order: keyof typeof orders) => {
    for (const id of matching(db, { expression, order, limit, range })) ids.add(id);
    return expression;
  };

  const whole = terms.flatMap(({ sequence }) => sequence).slice(0, mostCounted);
  if (terms.length > 1) look(phrase(whole), "newest");
  const isQuestion = terms.length > mostWords;
  const telling = isQuestion ? withoutCommon(db, terms) : terms;
  let last = look(all(telling.map(({ sequence }) => phrase(sequence))), "best");
  if (ids.size < limit && !isQuestion) last = look(withParts(db, telling), "best");
  if (ids.size === 0 || (isQuestion && ids.size < limit)) last = look(withAny(db, terms), "best");
  const total = session !== undefined || ids.size < limit ? ids.size : countOf(db, last);
  return { ids: [...ids].slice(0, limit), total };
}

/** More of them are a question, in which common words mean nothing. */
const mostWords = 5;

function withoutCommon(db: Database, terms: readonly Term[]): readonly Term[] {
  const isCommon = ({ sequence }: Term) => byRarity(db, sequence).every(({ count }) => count >= commonFrom);
  const telling = terms.filter((term) => !isCommon(term));
  return telling.length > 0 ? telling : terms;
}

type Range = { session: string; first: number; last: number; firstOutput: number; lastOutput: number };

/** The ids of a session lie close together: without their range, each match in any session would be looked up. */
function rangeOf(db: Database, session: string): Range {
  const items = "SELECT min(content) AS first, max(content) AS last FROM item WHERE session = ?1";
  const outputs = "SELECT -max(recording) AS firstOutput, -min(recording) AS lastOutput FROM output WHERE session = ?1";
  const row = db.get<Omit<Range, "session">>(`SELECT * FROM (${items}), (${outputs})`, [session]);
  const none = { first: 0, last: 0, firstOutput: 0, lastOutput: 0 };
  return { session, ...(row ?? none) };
}

/** Only so many of the newest matches are ranked: a word may be in every item. */
const mostRanked = 2000;

/** A match in a name's parts counts for less than one in the text. */
const orders = { best: "bm25(search, 1, 0.5)", newest: "0" } as const;

type Matching = { expression: string; order: keyof typeof orders; limit: number; range: Range | undefined };

function matching(db: Database, { expression, order, limit, range }: Matching): number[] {
  if (expression === "") return [];
  const most = order === "best" ? mostRanked : limit;
  const newest = (condition: string, direction: string) =>
    `SELECT * FROM (SELECT rowid AS id, ${orders[order]} AS rank FROM search
       WHERE search MATCH ?1 AND ${condition} ORDER BY rowid ${direction} LIMIT ${most})`;
  const items = range === undefined ? "rowid > 0" : `rowid BETWEEN ?3 AND ?4 AND EXISTS ${itemOf}`;
  const outputs = range === undefined ? "rowid < 0" : `rowid BETWEEN ?5 AND ?6 AND EXISTS ${outputOf}`;
  const values = range && [range.first, range.last, range.firstOutput, range.lastOutput, range.session];
  const rows = db.all<{ id: number }>(
    `SELECT id FROM (${newest(items, "DESC")} UNION ALL ${newest(outputs, "ASC")}) ORDER BY rank, abs(id) DESC LIMIT ?2`,
    [expression, limit, ...(values ?? [])],
  );
  return rows.map(({ id }) => id);
}

const itemOf = "(SELECT 1 FROM item WHERE item.content = search.rowid AND item.session = ?7)";
const outputOf = "(SELECT 1 FROM output WHERE output.recording = -search.rowid AND output.session = ?7)";

function countOf(db: Database, expression: string): number {
  return db.get<{ n: number }>("SELECT count(*) AS n FROM search WHERE search MATCH ?", [expression])?.n ?? 0;
}

/** Words that are looked for inside of others: each needs a look at all words of the index. */
const mostWidened = 3;

function withParts(db: Database, terms: readonly Term[]): string {
  const widened = byRarity(
    db,
    terms.flatMap(({ sequence }) => sequence),
  )
    .map(({ word }) => word)
    .filter((word) => word.length > 1 || word > "\x7f")
    .slice(0, mostWidened);
  const wide = new Map(widened.map((word) => [word, any([word, ...wordsWith(db, word)].map(quoted))]));
  return all(
    terms.map(({ sequence, parts }) => {
      const inWords = all(sequence.map((word) => wide.get(word) ?? quoted(word)));
      const ways = [phrase(sequence), inWords, ...(parts.length > 0 ? [all(parts.map(quoted))] : [])];
      return any(ways);
    }),
  );
}

/** A word that is in more texts than this says little about any of them. */
const commonFrom = 20_000;

/** Without the common words, unless there are no others. */
function withAny(db: Database, terms: readonly Term[]): string {
  const words = byRarity(
    db,
    terms.flatMap(({ sequence, parts }) => [...sequence, ...parts]),
  );
  const known = words.filter(({ count }) => count > 0);
  const rare = known.filter(({ count }) => count < commonFrom);
  return any((rare.length > 0 ? rare : known).map(({ word }) => quoted(word)));
}

const mostCounted = 60;

function byRarity(db: Database, words: readonly string[]): { word: string; count: number }[] {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ${commonFrom})`;
  const counted = [...new Set(words)].slice(0, mostCounted).map((word) => ({
    word,
    count: db.get<{ n: number }>(sql, [quoted(word)])?.n ?? 0,
  }));
  return counted.sort((a, b) => a.count - b.count);
}

/** The newest first, for lack of a rank. Bodies are JSON, so the text is searched in its JSON form. */
function idsWithText(db: Database, { query, session, limit, textOf }: Sought): MatchingIds {
  const text = query.trim();
  const among = (table: string, id: string) =>
    `EXISTS (SELECT 1 FROM ${table} WHERE ${id} AND (?2 IS NULL OR ${table}.session = ?2))`;
  const items = db.all<ItemRow & { id: number; total: number }>(
    `SELECT content.id, content.body, 0 AS seq, 0 AS turn, 0 AS at, count(*) OVER () AS total FROM content
       WHERE instr(body, ?1) > 0 AND ${among("item", "item.content = content.id AND item.kind <> 'environment'")}
       ORDER BY content.id DESC LIMIT ?3`,
    [JSON.stringify(text).slice(1, -1), session ?? null, limit],
  );
  const outputs = db.all<{ id: number; total: number }>(
    `SELECT -recording.id AS id, count(*) OVER () AS total FROM recording
       WHERE max(instr(stdout_head, ?1), instr(stdout_tail, ?1), instr(stderr_head, ?1), instr(stderr_tail, ?1)) > 0
         AND ${among("output", "output.recording = recording.id")} ORDER BY recording.id DESC LIMIT ?3`,
    [new TextEncoder().encode(text), session ?? null, limit],
  );
  // A body also has keys and ids, which are not part of the text.
  const said = items.filter((item) => textOf(item).includes(text));
  const total = (items[0]?.total ?? 0) - (items.length - said.length) + (outputs[0]?.total ?? 0);
  return { ids: [...said, ...outputs].map(({ id }) => id).slice(0, limit), total };
}

function phrase(words: readonly string[]): string {
  return quoted(words.join(" "));
}

function quoted(words: string): string {
  return `"${words.replaceAll('"', '""')}"`;
}

function all(expressions: readonly string[]): string {
  return expressions.length === 1 ? (expressions[0] ?? "") : `(${expressions.join(" AND ")})`;
}

function any(expressions: readonly string[]): string {
  return expressions.length === 1
    ? (expressions[0] ?? "")
    : expressions.length === 0
      ? ""
      : `(${expressions.join(" OR ")})`;
}
