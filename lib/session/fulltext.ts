import { KodaError } from "../errors.ts";
import type { Database } from "./database.ts";
import { linesOfOutput } from "./lines.ts";
import type { ItemRow } from "./log.ts";
import { recordingOf, type RecordingRow } from "./outputs.ts";

/** The text of an item; throws for an item that this koda cannot read. */
export type TextOf = (item: ItemRow) => string;

/**
 * Adds to the full-text index whatever was recorded since the last search, in one session or in all. In small steps,
 * each in its own transaction, so that processes that record meanwhile never wait for long.
 */
export function updateIndex(db: Database, { session, textOf }: { session?: string; textOf: TextOf }): void {
  for (const id of session === undefined ? behind(db) : [session]) {
    while (db.write(() => indexItems(db, { session: id, textOf })) === itemsAtOnce);
  }
  for (const id of unindexedRecordings(db, session)) db.write(() => indexRecording(db, id));
}

const itemsAtOnce = 20;

function behind(db: Database): string[] {
  return db.all<{ id: string }>("SELECT id FROM session WHERE indexed < length").map(({ id }) => id);
}

type UnindexedRow = ItemRow & { content: number; present: number };

/** Indexes the next few items of a session and returns their number. Some may be indexed already, by way of a fork. */
function indexItems(db: Database, { session, textOf }: { session: string; textOf: TextOf }): number {
  const rows = db.all<UnindexedRow>(
    `SELECT item.seq, item.turn, item.at, item.content, content.body,
         EXISTS (SELECT 1 FROM search WHERE search.rowid = item.content) AS present
       FROM session JOIN item ON item.session = session.id JOIN content ON content.id = item.content
       WHERE session.id = ? AND item.seq > session.indexed ORDER BY item.seq LIMIT ?`,
    [session, itemsAtOnce],
  );
  let done = 0;
  for (const row of rows) {
    const text = row.present === 1 ? "" : readable(row, textOf);
    if (text === undefined) break;
    if (text !== "") insertText(db, row.content, text);
    done++;
  }
  const last = rows[done - 1];
  if (last !== undefined) db.run("UPDATE session SET indexed = ? WHERE id = ?", [last.seq, session]);
  return done;
}

/** Items after one that this koda cannot read stay unindexed: the session cannot be opened here anyway. */
function readable(row: ItemRow, textOf: TextOf): string | undefined {
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

function indexRecording(db: Database, id: number): void {
  const claimed = db.run("UPDATE recording SET indexed = 1 WHERE id = ? AND indexed = 0", [id]);
  const row = claimed.changes === 0 ? undefined : db.get<RecordingRow>("SELECT * FROM recording WHERE id = ?", [id]);
  if (row === undefined) return;
  const text = linesOfOutput(recordingOf(row)).map((line) => line.text);
  insertText(db, -id, text.join("\n"));
}

function insertText(db: Database, id: number, text: string): void {
  db.run("INSERT INTO search (rowid, text) VALUES (?, ?)", [id, text]);
}
