import { constants as flags, Database as Sqlite, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { accessSync, chmodSync, closeSync, constants, mkdirSync, openSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errnoOf, KodaError, messageOf } from "../errors.ts";

export const inMemory = ":memory:";

/** A statement's wait for another process's transaction. Ours take milliseconds, so this is long. */
const busyTimeoutMs = 10_000;

/** A megabyte of log takes a millisecond to read; closing takes five. */
const mostLeftBytes = 1024 * 1024;

/** SQLITE_FCNTL_NULL_IO: closes the file behind SQLite's back, for good. A SQLite that does not know it ignores it. */
const loseFile = 43;

/**
 * One connection. Errors of SQLite leave here as a KodaError that names the file and what to do about it. STRICT tables
 * guarantee the row types that callers name; only JSON inside a column is decoded (decode.ts).
 */
export class Database {
  readonly path: string;
  readonly #sqlite: Sqlite;

  constructor(path: string) {
    this.path = path;
    if (path !== inMemory) prepareFile(path);
    this.#sqlite = this.#guard(() => new Sqlite(path, { readwrite: true, create: true, strict: true }));
    try {
      this.script(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  all<Row>(sql: string, values: SQLQueryBindings[] = []): Row[] {
    return this.#guard(() => this.#sqlite.query<Row, SQLQueryBindings[]>(sql).all(...values));
  }

  get<Row>(sql: string, values: SQLQueryBindings[] = []): Row | undefined {
    return this.#guard(() => this.#sqlite.query<Row, SQLQueryBindings[]>(sql).get(...values)) ?? undefined;
  }

  /** The number of rows that changed, and the id of the last one that was inserted. */
  run(sql: string, values: SQLQueryBindings[] = []): { changes: number; id: number } {
    const { changes, lastInsertRowid } = this.#guard(() => this.#sqlite.query(sql).run(...values));
    return { changes, id: Number(lastInsertRowid) };
  }

  /** Several statements in one text, without values. */
  script(sql: string): void {
    this.#guard(() => this.#sqlite.run(sql));
  }

  /**
   * Does all of `steps` or nothing. Immediate, because a transaction that reads first and then writes fails with
   * "database is locked" after another writer's, however long the timeout.
   */
  write<T>(steps: () => T): T {
    return this.#guard(() => this.#sqlite.transaction(steps).immediate());
  }

  /**
   * Does steps with many transactions. Their pages are copied from the log into the file every 64 MB instead of every
   * 4 MB, and by the next write or when the file is closed: most are written again and again.
   */
  writeMuch(steps: () => void): void {
    this.script("PRAGMA wal_autocheckpoint = 16384");
    try {
      steps();
    } finally {
      this.script("PRAGMA wal_autocheckpoint = 1000");
    }
  }

  /** Reads one state of the database while writers go on. */
  read<T>(steps: () => T): T {
    return this.#guard(() => this.#sqlite.transaction(steps).deferred());
  }

  close(): void {
    this.#sqlite.close();
  }

  /**
   * Closes without a checkpoint, which the last connection to close makes and which takes a user's time at the end of
   * a process. The files are left as by a killed process: nothing committed is lost, but the next one to open the
   * database reads the log first, so a long log is not left. Drops the locks of this process's other connections to
   * the file.
   */
  leave(mostBytes: number = mostLeftBytes): void {
    if (this.path !== inMemory && logBytes(this.path) < mostBytes) this.#sqlite.fileControl(loseFile, null);
    this.close();
  }

  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw storeError(this.path, error);
    }
  }
}

/**
 * Reads rows of a database of any version and writes nothing, not even the files beside it: without a log SQLite takes
 * the file as immutable, and with one it keeps the log's index in memory.
 */
export function readWithoutTrace<Row>(path: string, sql: string): Row[] {
  const way = logBytes(path) > 0 ? "readonly_shm" : "immutable";
  const address = `file://${path.split("/").map(encodeURIComponent).join("/")}?${way}=1`;
  const sqlite = new Sqlite(address, flags.SQLITE_OPEN_READONLY | flags.SQLITE_OPEN_URI);
  try {
    return sqlite.query<Row, []>(sql).all();
  } finally {
    sqlite.close();
  }
}

function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Makes the file private before SQLite opens it (its -wal and -shm inherit the mode). An existing directory keeps its
 * mode: it may be shared for good reason.
 */
function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createPrivately(path);
    const found = statSync(path);
    if (!found.isFile()) throw storeFailure(path, "it is not a file. Move it away");
    if ((found.mode & 0o077) !== 0) tighten(path);
    assertWritable(path);
  } catch (error) {
    throw storeError(path, error);
  }
}

/** Does not open an existing file: closing it would drop the locks of this process's other connections to it. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** Another user's file, or a file system without modes, is used as it is. */
function tighten(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    if (errnoOf(error) !== "EPERM") throw error;
  }
}

/**
 * SQLite would open a read-only file for reading, and leave a read-only -wal and -shm beside it, which are still in the
 * way when the file is writable again.
 */
function assertWritable(path: string): void {
  accessSync(path, constants.R_OK);
  try {
    for (const place of [path, dirname(path)]) accessSync(place, constants.W_OK);
  } catch (error) {
    throw errnoOf(error) === "EACCES" ? storeFailure(path, readOnly, error) : error;
  }
}

/** Errors that are not about the database pass through unchanged. */
function storeError(path: string, error: unknown): unknown {
  const code = error instanceof SQLiteError ? error.code : errnoOf(error);
  if (code === undefined || error instanceof KodaError) return error;
  const reason = code.startsWith("SQLITE_IOERR") && isDiskFull(path) ? diskFull : reasonOf(code);
  return storeFailure(path, reason ?? `${messageOf(error)}. Check the file and its directory`, error);
}

export function storeFailure(path: string, reason: string, cause?: unknown): KodaError {
  const elsewhere = "or set KODA_HOME to another directory, or run koda exec with --ephemeral";
  return new KodaError("store", `Cannot use the session database "${path}": ${reason}, ${elsewhere}.`, { cause });
}

export function isForLackOfSpace(error: unknown): boolean {
  return error instanceof KodaError && error.code === "store" && error.message.includes(diskFull);
}

/** Also of an error that another koda has told of. */
export function isForLock({ code, message }: { code: string; message: string }): boolean {
  return code === "store" && message.includes(locked);
}

/** SQLite reports some failures for lack of space with an error that does not say so. */
function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path));
    return bavail * bsize < 1024 * 1024;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

const readOnly = "it is read-only. Make it, the -wal and -shm beside it and their directory writable";
const diskFull = "the disk is full. Free some space";
const locked = "another process has kept it locked";

/** SQLite's extended codes (`SQLITE_IOERR_WRITE`) begin with the plain one. */
const reasons: readonly (readonly [code: string, reason: string])[] = [
  ["SQLITE_NOTADB", "it is not a SQLite database. Move it away to start with a new one"],
  [
    "SQLITE_CORRUPT",
    "it is damaged. Move it away to start with a new one (`sqlite3 FILE .recover` may save its content)",
  ],
  ["SQLITE_READONLY", readOnly],
  ["SQLITE_FULL", diskFull],
  ["SQLITE_IOERR", "the disk cannot be read or written. Check that it is healthy and has space"],
  ["SQLITE_BUSY", `${locked} for ${busyTimeoutMs / 1000} s. Try again when that one is done`],
  ["SQLITE_CANTOPEN", "it cannot be opened. Check the permissions of the file and its directory"],
  ["SQLITE_PERM", "permission denied. Check the permissions of the file and its directory"],
  ["EACCES", "permission denied. Check the permissions of the file and its directory"],
  ["EPERM", "permission denied. Check the permissions of the file and its directory"],
  ["EROFS", "the file system is read-only. Mount it writable"],
  ["ENOSPC", diskFull],
  ["EDQUOT", "your disk quota is exceeded. Free some space"],
  ["ENOTDIR", "a part of its path is not a directory. Move that away"],
  ["EEXIST", "its directory is a file. Move that away"],
];

function reasonOf(code: string): string | undefined {
  return reasons.find(([prefix]) => code.startsWith(prefix))?.[1];
}
