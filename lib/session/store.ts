import type { Mode } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { noUsage } from "../model/usage.ts";
import { readAgents, type SessionReading, withAgents } from "./agents.ts";
import type { Database } from "./database.ts";
import { decodeItem } from "./decode.ts";
import type { EnvironmentFacts, LoggedItem } from "./item.ts";
import { claimLease, newOwner, releaseLease, type Wait, whenFree } from "./lease.ts";
import {
  copyPlaces,
  insertSession,
  type ItemRow,
  readEnvironment,
  readItemsAfter,
  readSessions,
  type SessionInfo,
} from "./log.ts";
import { type LeftAgent, leftAgents } from "./leftagents.ts";
import { readLive } from "./live.ts";
import { outcomeOf, type SessionOutcome } from "./outcome.ts";
import { type Family, type OldSessions, removeFamily, removeUnused, sessionsBefore } from "./removal.ts";
import { type SearchHits, searchAll } from "./search.ts";
import { openDatabase } from "./schema.ts";
import { type SessionSource, Session } from "./session.ts";
import { shortIdOf } from "./shortid.ts";

const newestFirst = "length > 0 ORDER BY updated_at DESC, id DESC";

/** The sessions of a directory, or all; with `children` those of agents too. */
type Among = { cwd?: string | undefined; children?: boolean | undefined };

function isAmong(children: boolean | undefined): string {
  return `(?1 IS NULL OR cwd = ?1)${children === true ? "" : " AND agent IS NULL"}`;
}

type NewAgent = { id: string; agent: string };

export type NewSession = { cwd: string; model: string; provider: string; mode: Mode };

/** Opens the database at a path, and creates it when there is none; ":memory:" writes nothing. */
export function openStore(path: string): Store {
  return new Store(openDatabase(path));
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
      if (this.named(id) !== undefined) throw new KodaError("usage", `Session "${id}" exists already`);
      return this.#create(id, start);
    });
    return new Session(this.#db, opening);
  }

  /** An existing session, by its id or by a prefix that no other id has. */
  async open(idOrPrefix: string, wait: Wait = { ms: 0 }): Promise<Session> {
    const claim = () =>
      this.#db.write(() => {
        const info = this.find(idOrPrefix);
        return { info, owner: claimLease(this.#db, info.id) };
      });
    const { info, owner } = await whenFree(claim, wait);
    try {
      // Outside the transaction: under the lease no other process adds to it, and a long log takes a while.
      return new Session(this.#db, { info, owner, items: readLive(this.#db, info.id), origin: "found" });
    } catch (error) {
      releaseLease(this.#db, { session: info.id, owner });
      throw error;
    }
  }

  /** The session with exactly this id, created when there is none. */
  async openOrCreate(id: string, start: NewSession, wait: Wait = { ms: 0 }): Promise<Session> {
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(id))
      throw new KodaError("usage", `Bad session id "${id}": expected 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-"`);
    const made = this.#db.write(() => (this.named(id) === undefined ? this.#create(id, start) : undefined));
    return made === undefined ? await this.open(id, wait) : new Session(this.#db, made);
  }

  /** A new session that begins with all items of another. Only their places in the log are copied. */
  fork(id: string): Session {
    const opening = this.#db.write(() => this.#fork(this.find(id)));
    return new Session(this.#db, opening);
  }

  /** A new session for an agent of this one. */
  startAgent(parent: Pick<SessionInfo, "id" | "root">, { id, agent, ...start }: NewSession & NewAgent): Session {
    const opening = unmade(id, start);
    const info = { ...opening.info, parent: parent.id, root: parent.root, agent };
    return new Session(this.#db, { ...opening, info });
  }

  /** The same, as a fork of this one as it was then; its title is that of its own prompt. */
  forkAgent(parent: SessionInfo, { id, agent }: NewAgent): Session {
    const opening = this.#db.write(() => this.#fork({ ...parent, title: "" }, { id, agent }));
    return new Session(this.#db, opening);
  }

  /** The number of agents of the sessions with this root. */
  countAgents(root: string): number {
    const sql = "SELECT count(*) AS n FROM session WHERE root = ? AND agent IS NOT NULL";
    return this.#db.get<{ n: number }>(sql, [root])?.n ?? 0;
  }

  /** The agents that runs of this session have left without a result. */
  leftAgents(id: string): readonly LeftAgent[] {
    return leftAgents(this.#db, id);
  }

  /** A fork that is kept though nothing is added to it. */
  copy(id: string): SessionInfo {
    return this.#db.write(() => {
      const { info, owner } = this.#fork(this.find(id));
      releaseLease(this.#db, { session: info.id, owner });
      return info;
    });
  }

  /** The session of this directory with the latest activity. */
  latest(cwd: string): SessionInfo | undefined {
    return this.list({ cwd, limit: 1 })[0];
  }

  /** Newest activity first, without sessions that have no items yet. */
  list({ cwd, children, limit = -1 }: Among & { limit?: number | undefined } = {}): SessionInfo[] {
    return readSessions(this.#db, `${isAmong(children)} AND ${newestFirst} LIMIT ?2`, [cwd ?? null, limit]);
  }

  count({ cwd, children }: Among = {}): number {
    const sql = `SELECT count(*) AS n FROM session WHERE ${isAmong(children)} AND length > 0`;
    return this.#db.get<{ n: number }>(sql, [cwd ?? null])?.n ?? 0;
  }

  outcome(info: SessionInfo): SessionOutcome | null {
    return outcomeOf(this.#db, info);
  }

  /** A prefix of the id that `find` takes. */
  shortId(info: Pick<SessionInfo, "id" | "agent">): string {
    return shortIdOf(this.#db, info);
  }

  /** The session with exactly this id. */
  named(id: string): SessionInfo | undefined {
    return readSessions(this.#db, "id = ?", [id])[0];
  }

  /**
   * The session with this id, or with an id of which this is a prefix that no other has, except for agents' when it is
   * the user's own.
   */
  find(idOrPrefix: string): SessionInfo {
    const exact = this.named(idOrPrefix);
    if (exact !== undefined) return exact;

    const begins = "substr(id, 1, length(?1)) = ?1 AND length > 0 ORDER BY id";
    const matching = idOrPrefix === "" ? [] : readSessions(this.#db, begins, [idOrPrefix]);
    const own = matching.filter(({ agent }) => agent === undefined);
    const found = own.length > 0 ? own : matching;
    const [only, ...others] = found;
    if (only === undefined)
      throw new KodaError("session_not_found", `No session "${idOrPrefix}": see koda session list`);
    if (others.length > 0) throw ambiguous(idOrPrefix, found);
    return only;
  }

  /** The environment of a session's latest turn. */
  environmentOf(id: string): EnvironmentFacts | undefined {
    const row = readEnvironment(this.#db, id);
    const item = row && decodeItem(row, { path: this.#db.path, session: id });
    return item?.kind === "environment" ? item.facts : undefined;
  }

  /** A session with its agents. */
  read(info: SessionInfo, after = 0): SessionReading {
    return {
      info,
      total: this.totals([info])[0] ?? info,
      shortId: this.shortId(info),
      items: this.log(info.id, after),
      agents: readAgents(this.#db, info),
      agent: (id) => {
        const agent = this.named(id);
        return agent?.agent === undefined ? undefined : this.read(agent, agent.shared);
      },
    };
  }

  /** Sessions with the tokens and the cost of their agents. */
  totals(sessions: readonly SessionInfo[]): SessionInfo[] {
    return withAgents(this.#db, sessions);
  }

  /** The log of a session, oldest item first, read in small parts; another process may be writing to it. */
  *log(id: string, after = 0): Generator<LoggedItem, void> {
    const source = { path: this.#db.path, session: id };
    let last: number | undefined = after;
    while (last !== undefined) {
      const rows: ItemRow[] = readItemsAfter(this.#db, { session: id, seq: last, most: itemsAtOnce });
      for (const row of rows) yield decodeItem(row, source);
      last = rows.length < itemsAtOnce ? undefined : rows.at(-1)?.seq;
    }
  }

  items(id: string): LoggedItem[] {
    return [...this.log(id)];
  }

  /** Deletes a session and its agents' with their items and outputs, unless a process holds one. */
  remove(idOrPrefix: string): Family {
    return this.#db.write(() => removeFamily(this.#db, this.find(idOrPrefix)));
  }

  /** The sessions, with those of their agents, that were not used for this long. */
  prunable(olderThanMs: number): OldSessions {
    return sessionsBefore(this.#db, Date.now() - olderThanMs);
  }

  /** Deletes those of them that no process holds. */
  prune(olderThanMs: number): OldSessions {
    return removeUnused(this.#db, Date.now() - olderThanMs);
  }

  /** The number of items that the next search adds to its index first. */
  unindexed(): number {
    return this.#db.get<{ n: number }>("SELECT coalesce(sum(length - indexed), 0) AS n FROM session")?.n ?? 0;
  }

  /** The places in all logs and outputs where the words occur, best first. */
  search(query: string, limit: number): SearchHits {
    return searchAll(this.#db, { query, limit });
  }

  /** To be called in a transaction, like `#fork`: a session and its lease are created together. */
  #create(id: string, start: NewSession): SessionSource {
    const opening = unmade(id, start);
    insertSession(this.#db, opening.info);
    claimLease(this.#db, opening.info.id, opening.owner);
    return { ...opening, origin: "made" };
  }

  /** The fork of an agent's session is a conversation of the user's. */
  #fork(
    parent: SessionInfo,
    { id, agent }: { id: string; agent?: string } = { id: Bun.randomUUIDv7() },
  ): SessionSource {
    const { agent: _, ...kept } = parent;
    const now = Date.now();
    // Later than its parent even within one millisecond: a search shows shared items in the oldest session.
    const createdAt = Math.max(now, parent.createdAt + 1);
    const info = {
      ...kept,
      id,
      parent: parent.id,
      shared: parent.length,
      ...(agent !== undefined && { agent }),
      createdAt,
      updatedAt: now,
      usage: noUsage,
      costUsd: 0,
    };
    insertSession(this.#db, info);
    copyPlaces(this.#db, { from: parent, to: id });
    // An error names the session that the user knows.
    const items = readLive(this.#db, agent === undefined ? parent.id : id);
    return { info, owner: claimLease(this.#db, id), items, origin: "made" };
  }

  close(): void {
    this.#db.close();
  }

  /** Closes ten times faster, at the end of a process that has no other connection to this database. */
  leave(mostBytes?: number): void {
    this.#db.leave(mostBytes);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

const itemsAtOnce = 200;

function unmade(id: string, start: NewSession): SessionSource {
  const now = Date.now();
  const { cwd, model, provider, mode } = start;
  const empty = {
    title: "",
    createdAt: now,
    updatedAt: now,
    length: 0,
    turns: 0,
    usage: noUsage,
    costUsd: 0,
    ended: null,
  };
  const info = { id, root: id, cwd, model, provider, mode, runAs: null, ...empty };
  return { info, owner: newOwner(), items: [], origin: "unmade" };
}

const candidatesShown = 5;

function ambiguous(prefix: string, found: readonly SessionInfo[]): KodaError {
  const shown = found.slice(0, candidatesShown).map(({ id, title }) => `${id} (${title})`);
  const more = found.length > candidatesShown ? ` and ${found.length - candidatesShown} more` : "";
  return new KodaError("session_not_found", `Session id "${prefix}" is ambiguous: ${shown.join(", ")}${more}`);
}
