import { KodaError } from "../errors.ts";
import { type Database, inMemory, storeFailure } from "./database.ts";

/** "koda" in ASCII: tells our database from any other application's. */
const applicationId = 0x6b6f6461;

/**
 * Numbered by their place, forward only: a released one is never edited, a change is a new one at the end.
 *
 * A fork shares what its parent said: `item` and `output` are places in one session's log, `content` and `recording`
 * are what stands there, kept as long as any place points at them. `search` has the content under its id and the
 * recordings under theirs, negated; it gets them when something is sought, so that recording does not wait for it. Of a
 * session's items it has the first so many (`indexed`), and of the later ones those that a fork brought in.
 *
 * Every index is one more page that each new item writes, so lists, which are rare and short, do without.
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
];

/** Brings the database up to this binary's schema. Any number of processes may do so at the same moment. */
export function migrate(db: Database): void {
  const found = isCurrent(db) ? migrations.length : versionOf(db);
  if (db.path !== inMemory) useWriteAheadLog(db);
  if (found === migrations.length) return;
  db.write(() => {
    // Read again: another process may have migrated between the look above and the lock.
    const version = versionOf(db);
    for (const migration of migrations.slice(version)) db.script(migration);
    db.script(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`);
  });
}

/** What nearly every database is, and what can be told without a transaction: both marks came in one. */
function isCurrent(db: Database): boolean {
  return userVersion(db) === migrations.length && applicationOf(db) === applicationId;
}

/** The version of a database that is koda's, or is empty; anything else is refused before it is touched. */
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
 * A database that was restored from a backup may have lost it. The switch needs the file for itself alone and, unlike every other statement, does not wait for that: processes that
 * create the database together get SQLITE_BUSY at once, whatever the timeout. So the waiting is done here.
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
