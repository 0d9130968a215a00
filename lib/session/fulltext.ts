import { KodaError } from "../errors.ts";
import type { Database } from "./database.ts";
import { linesOfOutput } from "./lines.ts";
import type { ItemRow } from "./log.ts";
import { recordingOf, type RecordingRow } from "./outputs.ts";
import { type IndexText, isNumberOrHash, longestWord, TextPreparation } from "./terms.ts";

/** The text of an item; throws for an item that this koda cannot read. */
export type TextOf = (item: ItemRow) => string;

/**
 * Adds to the full-text index whatever was recorded since the last search, in one session or in all. Texts are read and
 * prepared between transactions, which are short, so that processes that record meanwhile never wait for long.
 */
export function updateIndex(db: Database, unindexed: { session?: string; textOf: TextOf }): void {
  db.writeMuch(() => addUnindexed(db, unindexed));
}

function addUnindexed(db: Database, { session, textOf }: { session?: string; textOf: TextOf }): void {
  const preparation = new TextPreparation();
  const isComplete = hasAllWords(db);
  let batch: Addition[] = [];
  let size = 0;
  const commit = (words: readonly string[]) => {
    db.write(() => {
      addTexts(db, batch);
      addWords(db, words, isComplete && preparation.words.length === 0);
    });
    [batch, size] = [[], 0];
  };
  for (const addition of additions(db, { session, textOf, preparation })) {
    batch.push(addition);
    size += addition.size;
    if (size < mostAtOnce) continue;
    commit(preparation.words.length < mostNewWords ? [] : preparation.takeWords());
    mergeParts(db, pagesAfterMany);
  }
  if (batch.length + preparation.words.length === 0) return;
  commit(preparation.takeWords());
  mergeParts(db, pagesAfterFew);
}

/**
 * Each transaction adds a part to the index, and a search looks into all parts. FTS5 would merge them by itself, which
 * takes as long as adding them; most of that is done when so much is added that a user waits anyway.
 */
function mergeParts(db: Database, pages: number): void {
  db.write(() => db.run("INSERT INTO search (search, rank) VALUES ('merge', ?)", [pages]));
}

const pagesAfterMany = 2000;
const pagesAfterFew = 200;

/**
 * Characters in one transaction, which takes about a tenth of a second. Each is a part of the index on its own, and
 * small parts are merged again and again.
 */
const mostAtOnce = 6 * 1024 * 1024;
/** Words are all over the pages of their table, so they are added together. */
const mostNewWords = 50_000;
const rowsAtOnce = 100;

/**
 * Texts that are indexed together; false from `claim` when another process has done so in the meantime. Some texts of a
 * fork may be in the index already.
 */
type Addition = { claim(): boolean; texts: (IndexText & { id: number })[]; size: number; isShared: boolean };

type Unindexed = { session: string | undefined; textOf: TextOf; preparation: TextPreparation };

function* additions(db: Database, unindexed: Unindexed): Generator<Addition, void> {
  for (const row of behind(db, unindexed.session)) yield* itemsOf(db, row, unindexed);
  for (const id of unindexedRecordings(db, unindexed.session)) {
    const addition = recordingAddition(db, id, unindexed.preparation);
    if (addition !== undefined) yield addition;
  }
}

type Behind = { id: string; indexed: number; isShared: 0 | 1 };

function behind(db: Database, session: string | undefined): Behind[] {
  return db.all<Behind>(
    `SELECT id, indexed,
         parent IS NOT NULL OR id IN (SELECT parent FROM session WHERE parent IS NOT NULL) AS isShared
       FROM session WHERE indexed < length AND (?1 IS NULL OR id = ?1)`,
    [session ?? null],
  );
}

type UnindexedRow = ItemRow & { kind: string; content: number };

/** Items after one that this koda cannot read stay unindexed: the session cannot be opened here anyway. */
function* itemsOf(db: Database, { id, indexed, isShared }: Behind, { textOf, preparation }: Unindexed) {
  let from = indexed;
  while (true) {
    const rows = db.all<UnindexedRow>(
      `SELECT item.seq, item.turn, item.at, item.kind, item.content, content.body
         FROM item JOIN content ON content.id = item.content
         WHERE item.session = ? AND item.seq > ? ORDER BY item.seq LIMIT ${rowsAtOnce}`,
      [id, from],
    );
    const texts: Addition["texts"] = [];
    let [to, size] = [from, 0];
    for (const row of rows) {
      const text = readable(row, textOf);
      if (text === undefined) break;
      if (text !== "") texts.push({ id: row.content, ...preparation.prepare(text) });
      [to, size] = [row.seq, size + text.length];
    }
    const place = [to, id, from];
    const claim = () => db.run("UPDATE session SET indexed = ? WHERE id = ? AND indexed = ?", place).changes > 0;
    if (to > from) yield { claim, texts, size, isShared: isShared === 1 };
    if (to - from < rowsAtOnce) return;
    from = to;
  }
}

/** Environments are left out: they are alike in all sessions. */
function readable(row: UnindexedRow, textOf: TextOf): string | undefined {
  if (row.kind === "environment") return "";
  try {
    return textOf(row);
  } catch (error) {
    if (error instanceof KodaError) return undefined;
    throw error;
  }
}

function unindexedRecordings(db: Database, session: string | undefined): number[] {
  const waiting = db.all<{ id: number }>(
    `SELECT DISTINCT recording.id FROM recording JOIN output ON output.recording = recording.id
       WHERE recording.indexed = 0 AND (?1 IS NULL OR output.session = ?1)`,
    [session ?? null],
  );
  return waiting.map(({ id }) => id);
}

function recordingAddition(db: Database, id: number, preparation: TextPreparation): Addition | undefined {
  const row = db.get<RecordingRow>("SELECT * FROM recording WHERE id = ?", [id]);
  if (row === undefined) return undefined;
  const text = linesOfOutput(recordingOf(row))
    .map((line) => line.text)
    .join("\n");
  const claim = () => db.run("UPDATE recording SET indexed = 1 WHERE id = ? AND indexed = 0", [id]).changes > 0;
  return { claim, texts: [{ id: -id, ...preparation.prepare(text) }], size: text.length, isShared: false };
}

function addTexts(db: Database, batch: readonly Addition[]): void {
  for (const { claim, texts, isShared } of batch) {
    if (!claim()) continue;
    for (const { id, text, parts } of texts) {
      // Not in one statement: FTS5 would write its data after each, which takes ten times as long.
      const isThere = isShared && db.get("SELECT 1 FROM search_docsize WHERE id = ?", [id]) !== undefined;
      if (!isThere) db.run("INSERT INTO search (rowid, text, parts) VALUES (?, ?, ?)", [id, text, parts]);
    }
  }
}

/** The empty word says that the list is complete: it is not when a process was killed between texts and their words. */
function addWords(db: Database, words: readonly string[], isComplete: boolean): void {
  const { sorted = [], unsorted = [] } = Object.groupBy(words, (word) =>
    isNumberOrHash(word) ? "unsorted" : "sorted",
  );
  const values = "(text) SELECT value FROM json_each(?)";
  db.run(`INSERT OR IGNORE INTO word ${values}`, [JSON.stringify(sorted.toSorted())]);
  db.run(`INSERT INTO unsorted_word ${values}`, [JSON.stringify(unsorted)]);
  db.run(isComplete ? "INSERT OR IGNORE INTO word (text) VALUES ('')" : "DELETE FROM word WHERE text = ''");
}

function hasAllWords(db: Database): boolean {
  return db.get("SELECT 1 FROM word WHERE text = ''") !== undefined;
}

/** Words of the index of which this is a part, those that begin with it first, then the shortest. */
export function wordsWith(db: Database, part: string): string[] {
  if (!hasAllWords(db)) restoreWords(db);
  const rows = db.all<{ text: string }>(
    `SELECT DISTINCT text FROM (SELECT text FROM word UNION ALL SELECT text FROM unsorted_word)
       WHERE instr(text, ?1) > 0 ORDER BY instr(text, ?1) > 1, length(text), text LIMIT ${mostWords}`,
    [part],
  );
  return rows.map(({ text }) => text);
}

const mostWords = 200;

/** To be called when texts were deleted. */
export function forgetWords(db: Database): void {
  db.script("DELETE FROM word; DELETE FROM unsorted_word");
}

function restoreWords(db: Database): void {
  db.script("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, search, row)");
  db.run(`INSERT OR IGNORE INTO word SELECT term FROM temp.vocabulary WHERE length(term) <= ${longestWord}
    UNION ALL SELECT ''`);
}
