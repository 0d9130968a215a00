import { KodaError } from "../errors.ts";
import { batchTables, jobTable, sqliteTypes, unpricedColumn } from "./batchtables.ts";
import { Database, inMemory, storeFailure } from "./database.ts";

/** "koda" in ASCII; marks the database as ours. */
const applicationId = 0x6b6f6461;

/**
 * Numbered by their place, forward only: a released migration is never edited, a change is a new one at the end.
 *
 * A fork shares the items of its parent: `item` and `output` are places in one session's log, `content` and `recording`
 * are the data, kept as long as a place refers to it. `search` has content by its id and recordings by their negated
 * id. It is filled when something is searched, so that recording never waits for it: it has the first `indexed` items
 * of a session, and those of the later ones that a fork shares. `word` and `unsorted_word` have the words of the index,
 * so that a search can find a part of one.
 *
 * An index of what changes is one more page to write with every new item, so what lists are sorted by has none.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    parent TEXT,
    parent_seq INTEGER,
    title TEXT NOT NULL,
    cwd TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    mode TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    length INTEGER NOT NULL,
    indexed INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    input INTEGER,
    cached INTEGER,
    output INTEGER,
    reasoning INTEGER
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE lease (
    session TEXT NOT NULL PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    owner TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    host TEXT NOT NULL,
    machine TEXT NOT NULL,
    since INTEGER NOT NULL,
    expires INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE content (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE item (
    session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    content INTEGER NOT NULL REFERENCES content,
    PRIMARY KEY (session, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX item_by_content ON item (content);

  CREATE TABLE recording (
    id INTEGER PRIMARY KEY,
    call TEXT NOT NULL,
    indexed INTEGER NOT NULL,
    stdout_head BLOB NOT NULL,
    stdout_tail BLOB NOT NULL,
    stdout_bytes INTEGER NOT NULL,
    stdout_lines INTEGER NOT NULL,
    stderr_head BLOB NOT NULL,
    stderr_tail BLOB NOT NULL,
    stderr_bytes INTEGER NOT NULL,
    stderr_lines INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX recording_unindexed ON recording (id) WHERE indexed = 0;
  CREATE TABLE output (
    session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    recording INTEGER NOT NULL REFERENCES recording,
    PRIMARY KEY (session, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX output_by_recording ON output (recording);

  CREATE VIRTUAL TABLE search USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
  );

  CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN
    DELETE FROM content WHERE id = old.content AND NOT EXISTS (SELECT 1 FROM item WHERE content = old.content);
  END;
  CREATE TRIGGER content_gone AFTER DELETE ON content BEGIN
    DELETE FROM search WHERE rowid = old.id;
  END;
  CREATE TRIGGER output_gone AFTER DELETE ON output BEGIN
    DELETE FROM recording
      WHERE id = old.recording AND NOT EXISTS (SELECT 1 FROM output WHERE recording = old.recording);
  END;
  CREATE TRIGGER output_replaced AFTER UPDATE OF recording ON output BEGIN
    DELETE FROM recording
      WHERE id = old.recording AND NOT EXISTS (SELECT 1 FROM output WHERE recording = old.recording);
  END;
  CREATE TRIGGER recording_gone AFTER DELETE ON recording WHEN old.indexed = 1 BEGIN
    DELETE FROM search WHERE rowid = -old.id;
  END;
  `,
  // Few items are of these kinds, so for most of them the index is no page to write.
  "CREATE INDEX item_marker ON item (session, seq) WHERE kind IN ('environment', 'compaction', 'rollback')",
  // The first session of a line of forks; the last one that is known when that was removed.
  `
  ALTER TABLE session ADD COLUMN root TEXT NOT NULL DEFAULT '';
  UPDATE session SET root = (
    WITH RECURSIVE line (id, origin) AS (
      SELECT session.id, session.parent
      UNION
      SELECT line.origin, (SELECT parent FROM session AS older WHERE older.id = line.origin)
        FROM line WHERE line.origin IS NOT NULL
    )
    SELECT id FROM line WHERE origin IS NULL
  );
  `,
  // The first index had no parts of names, and writing without spaces as one word. The next search fills this one.
  `
  DROP TABLE search;
  CREATE VIRTUAL TABLE search USING fts5 (
    text, parts, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
  );
  DROP TRIGGER content_gone;
  CREATE TRIGGER content_gone AFTER DELETE ON content WHEN EXISTS (SELECT 1 FROM search_docsize WHERE id = old.id) BEGIN
    DELETE FROM search WHERE rowid = old.id;
  END;
  CREATE TABLE word (text TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
  INSERT INTO word VALUES ('');
  UPDATE session SET indexed = 0;
  UPDATE recording SET indexed = 0;

  ALTER TABLE session ADD COLUMN cost REAL;
  ALTER TABLE session ADD COLUMN ended TEXT;
  UPDATE session SET ended = (SELECT json_extract(content.body, '$.reason')
    FROM item JOIN content ON content.id = item.content
    WHERE item.session = session.id AND item.seq = session.length AND item.kind = 'turn_end');
  `,
  "ALTER TABLE session ADD COLUMN written INTEGER",
  // Merges took a quarter of the time in which texts are added to the index, and more parts make no search slower.
  `
  INSERT INTO search (search, rank) VALUES ('automerge', 16);
  INSERT INTO search (search, rank) VALUES ('crisismerge', 32);
  `,
  // Numbers and hashes, which are most of a log's new words: in order they would change every page of their table.
  "CREATE TABLE unsorted_word (text TEXT NOT NULL) STRICT",
  // Its columns never change, so for a new item the index is no page to write.
  `
  ALTER TABLE session ADD COLUMN agent TEXT;
  CREATE INDEX session_of_agent ON session (root, parent) WHERE agent IS NOT NULL;
  `,
  // The texts of a transaction are kept in memory until they are written as one part of the index. The default of one
  // megabyte makes several parts of them, which are merged later.
  "INSERT INTO search (search, rank) VALUES ('hashsize', 16777216)",
  // Submissions of programs: each has an effect once, also when the process is killed in between.
  `
  CREATE TABLE submission (
    session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    reply TEXT,
    PRIMARY KEY (session, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX submission_open ON submission (session, number) WHERE state <> 'answered';
  `,
  // fulltext.ts merges the parts of the index, and at its own time: these are as many as automerge above has allowed.
  `
  INSERT INTO search (search, rank) VALUES ('automerge', 0);
  INSERT INTO search (search, rank) VALUES ('usermerge', 16);
  `,
  "ALTER TABLE session ADD COLUMN run_as TEXT",
  batchTables(sqliteTypes) + jobTable,
  unpricedColumn,
];

export const schemaVersion: number = migrations.length;

/** Opens the database at a path with this binary's schema, and creates it when there is none. */
export function openDatabase(path: string): Database {
  const db = new Database(path);
  try {
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Migrates the database to this binary's schema. Any number of processes may do so at the same moment. */
function migrate(db: Database): void {
  const found = isCurrent(db) ? migrations.length : versionOf(db);
  if (db.path !== inMemory) useWriteAheadLog(db);
  if (found === migrations.length) return;
  db.write(() => {
    // Read again: another process may have migrated in the meantime.
    const version = versionOf(db);
    for (const migration of migrations.slice(version)) db.script(migration);
    db.script(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`);
  });
}

/** True for nearly every database. Needs no transaction: both values are written in one. */
function isCurrent(db: Database): boolean {
  return userVersion(db) === migrations.length && applicationOf(db) === applicationId;
}

/** The version of koda's database, or of an empty one; any other is refused before it is changed. */
function versionOf(db: Database): number {
  const { version, application, tables } = db.read(() => ({
    version: userVersion(db),
    application: applicationOf(db),
    tables: db.get<{ tables: number }>("SELECT count(*) AS tables FROM sqlite_schema")?.tables ?? 0,
  }));
  const isEmpty = application === 0 && version === 0 && tables === 0;
  if (application !== applicationId && !isEmpty)
    throw storeFailure(db.path, "it belongs to another application. Move it away");
  if (version > migrations.length) {
    const versions = `its schema is ${version}, this one knows ${migrations.length}`;
    throw storeFailure(db.path, `it was written by a newer koda (${versions}). Update koda`);
  }
  return version;
}

function userVersion(db: Database): number {
  return db.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}

function applicationOf(db: Database): number {
  return db.get<{ application_id: number }>("PRAGMA application_id")?.application_id ?? 0;
}

const walPatienceMs = 10_000;
const walPauseMs = 5;

/**
 * A backup may have been restored without it. The switch needs the file for itself and, unlike other statements,
 * ignores the timeout: processes that create the database together get SQLITE_BUSY at once. So this function waits.
 */
function useWriteAheadLog(db: Database): void {
  if (db.get<{ journal_mode: string }>("PRAGMA journal_mode")?.journal_mode === "wal") return;
  const deadline = Date.now() + walPatienceMs;
  while (true) {
    try {
      db.get("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      Bun.sleepSync(walPauseMs * (1 + Math.random()));
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof KodaError && error.cause instanceof Error && "code" in error.cause
    ? String(error.cause.code).startsWith("SQLITE_BUSY")
    : false;
}
