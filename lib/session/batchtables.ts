/** The names of types in which SQLite and PostgreSQL differ, and what ends a table. */
export type ColumnTypes = { real: string; bytes: string; end: string };

export const sqliteTypes: ColumnTypes = { real: "REAL", bytes: "BLOB", end: " STRICT" };

/**
 * The tables of batches of tasks, in both databases that they can lie in. An attempt is charged what it has reserved
 * until it says what it has spent. `needs` counts the tasks that a task still waits for.
 */
export function batchTables({ real, bytes, end }: ColumnTypes): string {
  return tables.replaceAll("{real}", real).replaceAll("{bytes}", bytes).replaceAll("{end}", end);
}

const tables = `
  CREATE TABLE batch (
    id TEXT NOT NULL PRIMARY KEY,
    submitted_at {real} NOT NULL,
    settings TEXT NOT NULL,
    total INTEGER NOT NULL,
    state TEXT NOT NULL,
    spent_cost {real} NOT NULL,
    spent_tokens {real} NOT NULL,
    reserved_cost {real} NOT NULL,
    reserved_tokens {real} NOT NULL,
    finished INTEGER NOT NULL
  ){end};
  CREATE INDEX batch_open ON batch (submitted_at) WHERE state = 'open';

  CREATE TABLE batch_task (
    batch TEXT NOT NULL REFERENCES batch ON DELETE CASCADE,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    needs INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    resumes INTEGER NOT NULL,
    not_before {real},
    duration_ms {real},
    ending TEXT,
    patch {bytes},
    PRIMARY KEY (batch, key)
  ){end};
  CREATE INDEX batch_task_position ON batch_task (batch, position);
  CREATE INDEX batch_task_state ON batch_task (batch, state);

  CREATE TABLE batch_need (
    batch TEXT NOT NULL REFERENCES batch ON DELETE CASCADE,
    needed TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (batch, needed, key)
  ){end};

  CREATE TABLE batch_attempt (
    batch TEXT NOT NULL REFERENCES batch ON DELETE CASCADE,
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    worker TEXT NOT NULL,
    host TEXT NOT NULL,
    started_at {real} NOT NULL,
    ended_at {real},
    kind TEXT NOT NULL,
    exit INTEGER,
    error TEXT,
    cost {real} NOT NULL,
    tokens {real} NOT NULL,
    reserved_cost {real} NOT NULL,
    reserved_tokens {real} NOT NULL,
    PRIMARY KEY (batch, key, number)
  ){end};
  CREATE INDEX batch_attempt_open ON batch_attempt (batch, worker) WHERE kind = 'open';

  CREATE TABLE batch_checkpoint (
    batch TEXT NOT NULL REFERENCES batch ON DELETE CASCADE,
    key TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    part INTEGER NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    items {bytes} NOT NULL,
    patch {bytes} NOT NULL,
    PRIMARY KEY (batch, key, attempt, part)
  ){end};

  CREATE TABLE batch_group (
    name TEXT NOT NULL PRIMARY KEY,
    paused_until {real} NOT NULL
  ){end};

  CREATE TABLE batch_worker (
    id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    seen_at {real} NOT NULL,
    left_because TEXT
  ){end};`;

/** Some of the tokens of an attempt have no known price, so it cost more than its `cost`. */
export const unpricedColumn = "ALTER TABLE batch_attempt ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;";

/**
 * The queue of SQLite, whose workers are all on one machine. A job that a worker holds has an owner. An id is never
 * used again, so that a late worker has no right to another job.
 */
export const jobTable = `
  CREATE TABLE batch_job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch TEXT NOT NULL REFERENCES batch ON DELETE CASCADE,
    key TEXT NOT NULL,
    grp TEXT NOT NULL,
    labels TEXT NOT NULL,
    not_before REAL NOT NULL,
    lease_ms REAL NOT NULL,
    place INTEGER NOT NULL,
    round INTEGER NOT NULL,
    owner TEXT,
    pid INTEGER,
    started TEXT,
    machine TEXT,
    expires REAL NOT NULL
  ) STRICT;
  CREATE INDEX batch_job_free ON batch_job (batch, place, id) WHERE owner IS NULL;
  CREATE INDEX batch_job_held ON batch_job (batch) WHERE owner IS NOT NULL;`;
