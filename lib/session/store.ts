import type { Mode } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { noUsage } from "../model/usage.ts";
import { Database } from "./database.ts";
import type { DecodeItem } from "./decode.ts";
import type { EnvironmentFacts, LoggedItem } from "./item.ts";
import { assertFree, claimLease, isHeld, newOwner, releaseLease, type Wait, whenFree } from "./lease.ts";
import {
  copyPlaces,
  deleteSession,
  infoOf,
  insertSession,
  readItems,
  readLatest,
  type SessionInfo,
  type SessionRow,
} from "./log.ts";
import { outcomesIn, type SessionOutcome } from "./outcome.ts";
import { type SearchHits, searchAll } from "./search.ts";
import { migrate } from "./schema.ts";
import { type SessionSource, Session } from "./session.ts";

export type NewSession = { cwd: string; model: string; provider: string; mode: Mode };

/** Opens the database at a path, and creates it when there is none; ":memory:" writes nothing. */
export function openStore(path: string): Store {
  const db = new Database(path);
  try {
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return new Store(db);
}

/** All sessions of one database. Its open sessions have to be closed before it. */
export class Store implements AsyncDisposable {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** A new session. A chosen id is taken at once; a generated one is unique. */
  create({ id, ...start }: NewSession & { id?: string }): Session {
    if (id === undefined) return new Session(this.#db, unmade(Bun.randomUUIDv7(), start));
    const opening = this.#db.write(() => {
      if (this.#row(id) !== undefined) throw new KodaError("usage", `Session "${id}" exists already`);
      return this.#create(id, start);
    });
    return new Session(this.#db, opening);
  }

  /** An existing session, by its id or by a prefix that no other id has. */
  async open(idOrPrefix: string, wait: Wait = { ms: 0 }): Promise<Session> {
    const { decodeItem } = await import("./decode.ts");
    const claim = () =>
      this.#db.write(() => {
        const info = this.find(idOrPrefix);
        return { info, owner: claimLease(this.#db, info.id) };
      });
    const { info, owner } = await whenFree(claim, wait);
    try {
      // Outside the transaction: under the lease no other process adds to it, and a long log takes a while.
      return new Session(this.#db, { info, owner, items: this.#read(info.id, decodeItem), origin: "found" });
    } catch (error) {
      releaseLease(this.#db, { session: info.id, owner });
      throw error;
    }
  }

  /** The session with exactly this id, created when there is none. */
  async openOrCreate(id: string, start: NewSession, wait: Wait = { ms: 0 }): Promise<Session> {
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(id))
      throw new KodaError("usage", `Bad session id "${id}": expected 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-"`);
    const made = this.#db.write(() => (this.#row(id) === undefined ? this.#create(id, start) : undefined));
    return made === undefined ? await this.open(id, wait) : new Session(this.#db, made);
  }

  /** A new session that begins with all items of another. Only their places in the log are copied. */
  async fork(id: string): Promise<Session> {
    const { decodeItem } = await import("./decode.ts");
    const opening = this.#db.write(() => this.#fork(this.find(id), decodeItem));
    return new Session(this.#db, opening);
  }

  /** The session of this directory with the latest activity. */
  latest(cwd: string): SessionInfo | undefined {
    const sql = "SELECT * FROM session WHERE cwd = ? AND length > 0 ORDER BY updated_at DESC, id DESC LIMIT 1";
    const row = this.#db.get<SessionRow>(sql, [cwd]);
    return row && infoOf(row);
  }

  /** Newest activity first, without sessions that have no items yet. */
  list(): SessionInfo[] {
    const sql = "SELECT * FROM session WHERE length > 0 ORDER BY updated_at DESC, id DESC";
    return this.#db.all<SessionRow>(sql).map(infoOf);
  }

  /** The outcome of each listed session, by its id. */
  outcomes(): Map<string, SessionOutcome> {
    return outcomesIn(this.#db);
  }

  /** The session with exactly this id. */
  named(id: string): SessionInfo | undefined {
    const row = this.#row(id);
    return row && infoOf(row);
  }

  /** The session with this id, or with an id of which this is a prefix that no other has. */
  find(idOrPrefix: string): SessionInfo {
    const exact = this.#row(idOrPrefix);
    if (exact !== undefined) return infoOf(exact);

    const begins = "SELECT * FROM session WHERE substr(id, 1, length(?1)) = ?1 AND length > 0 ORDER BY id";
    const rows = idOrPrefix === "" ? [] : this.#db.all<SessionRow>(begins, [idOrPrefix]);
    const [only, ...others] = rows;
    if (only === undefined)
      throw new KodaError("session_not_found", `No session "${idOrPrefix}": see koda session list`);
    if (others.length > 0) throw ambiguous(idOrPrefix, rows);
    return infoOf(only);
  }

  /** The environment of a session's latest turn. */
  async environmentOf(id: string): Promise<EnvironmentFacts | undefined> {
    const { decodeItem } = await import("./decode.ts");
    const row = readLatest(this.#db, { session: id, kind: "environment" });
    const item = row && decodeItem(this.#db.path, row);
    return item?.kind === "environment" ? item.facts : undefined;
  }

  /** The log of a session, oldest item first; another process may be writing to it. */
  async items(id: string): Promise<LoggedItem[]> {
    const { decodeItem } = await import("./decode.ts");
    return this.#read(id, decodeItem);
  }

  /** Deletes a session with its items and outputs, unless a process holds it. */
  remove(idOrPrefix: string): SessionInfo {
    return this.#db.write(() => {
      const info = this.find(idOrPrefix);
      assertFree(this.#db, info.id, "It can be deleted when that process has ended.");
      deleteSession(this.#db, info.id);
      return info;
    });
  }

  /** The sessions that were not used for this long and are not held by a process. */
  prunable(olderThanMs: number): SessionInfo[] {
    const before = Date.now() - olderThanMs;
    const old = this.#db.all<SessionRow>("SELECT * FROM session WHERE updated_at < ? ORDER BY updated_at", [before]);
    return old.filter(({ id }) => !isHeld(this.#db, id)).map(infoOf);
  }

  /** Deletes the prunable sessions and returns them. */
  prune(olderThanMs: number): SessionInfo[] {
    const before = Date.now() - olderThanMs;
    // One by one, so that other processes can write in between; each may have been used again by now.
    return this.prunable(olderThanMs).filter(({ id }) =>
      this.#db.write(() => {
        const row = this.#row(id);
        if (row === undefined || row.updated_at >= before || isHeld(this.#db, id)) return false;
        deleteSession(this.#db, id);
        return true;
      }),
    );
  }

  /** The places in all logs and outputs where the words occur, best first. */
  async search(query: string, limit: number): Promise<SearchHits> {
    const { decodeItem } = await import("./decode.ts");
    return searchAll(this.#db, { query, limit }, decodeItem);
  }

  /** To be called in a transaction, like `#fork`: a session and its lease are created together. */
  #create(id: string, start: NewSession): SessionSource {
    const opening = unmade(id, start);
    insertSession(this.#db, opening.info);
    claimLease(this.#db, opening.info.id, opening.owner);
    return { ...opening, origin: "made" };
  }

  #fork(parent: SessionInfo, decode: DecodeItem): SessionSource {
    const now = Date.now();
    const id = Bun.randomUUIDv7();
    // Later than its parent even within one millisecond: a search shows shared items in the oldest session.
    const createdAt = Math.max(now, parent.createdAt + 1);
    const info = { ...parent, id, parent: parent.id, createdAt, updatedAt: now, usage: noUsage };
    insertSession(this.#db, info, parent.length);
    copyPlaces(this.#db, { from: parent.id, to: id });
    return { info, owner: claimLease(this.#db, id), items: this.#read(id, decode), origin: "made" };
  }

  #read(id: string, decode: DecodeItem): LoggedItem[] {
    return readItems(this.#db, id).map((row) => decode(this.#db.path, row));
  }

  #row(id: string): SessionRow | undefined {
    return this.#db.get<SessionRow>("SELECT * FROM session WHERE id = ?", [id]);
  }

  close(): void {
    this.#db.close();
  }

  /** Closes ten times faster, at the end of a process that has no other connection to this database. */
  leave(): void {
    this.#db.leave();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

function unmade(id: string, start: NewSession): SessionSource {
  const now = Date.now();
  const { cwd, model, provider, mode } = start;
  const empty = { title: "", createdAt: now, updatedAt: now, length: 0, turns: 0, usage: noUsage };
  const info = { id, cwd, model, provider, mode, ...empty };
  return { info, owner: newOwner(), items: [], origin: "unmade" };
}

const candidatesShown = 5;

function ambiguous(prefix: string, rows: readonly SessionRow[]): KodaError {
  const shown = rows.slice(0, candidatesShown).map(({ id, title }) => `${id} (${title})`);
  const more = rows.length > candidatesShown ? ` and ${rows.length - candidatesShown} more` : "";
  const candidates = `${shown.join(", ")}${more}`;
  return new KodaError("session_not_found", `Session id "${prefix}" is ambiguous: ${candidates}`);
}
