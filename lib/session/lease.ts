import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";
import type { Database } from "./database.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "./process.ts";

const leaseMs = 30_000;
const renewEveryMs = 10_000;

/** A wait of up to `ms` for a session that another process holds; `note` gets one line about it. */
export type Wait = { ms: number; note?: (text: string) => void; signal?: AbortSignal };

/** Another process holds the session. */
class SessionHeld extends KodaError {
  readonly session: string;
  /** `process 12 on host "ci" has held it for 3 s` */
  readonly holding: string;

  constructor(holder: Holder, advice: string) {
    const holding = `${nameOf(holder)} has held it for ${shownSince(holder.since)}`;
    super("session_held", `Session "${holder.session}" is in use: ${holding}. ${advice}`, { retryable: true });
    this.session = holder.session;
    this.holding = holding;
  }
}

/** An unguessable name for the owner of a lease. */
export function newOwner(): string {
  return crypto.randomUUID();
}

/**
 * Takes a session for this process and returns the owner's name. To be called in the transaction that reads or creates
 * the session. Throws `session_held`.
 */
export function claimLease(db: Database, session: string, owner = newOwner()): string {
  const now = Date.now();
  assertFree(db, session, `Wait for it with --wait 1m, or copy it with --fork ${session}.`);
  const { pid, started, host, machine } = thisProcess();
  db.run(
    `INSERT OR REPLACE INTO lease (session, owner, pid, started, host, machine, since, expires)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [session, owner, pid, started, host, machine, now, now + leaseMs],
  );
  return owner;
}

/** Throws `session_held`, with this advice, while a process holds the session. */
export function assertFree(db: Database, session: string, advice: string): void {
  const holder = holderOf(db, session);
  if (holder !== undefined && holds(holder)) throw new SessionHeld(holder, advice);
}

export function isHeld(db: Database, session: string): boolean {
  const holder = holderOf(db, session);
  return holder !== undefined && holds(holder);
}

/** Ignores failures: a lease expires, or ends with its process, and a good run must not fail at its end. */
export function releaseLease(db: Database, { session, owner }: Claim): void {
  tryToRun(db, "DELETE FROM lease WHERE session = ? AND owner = ?", [session, owner]);
}

type Claim = { session: string; owner: string };

/**
 * A lease that is renewed until it is released. When its process sleeps for longer than it lasts, another process may
 * take the session, and then the first one's next write fails.
 */
export class Lease {
  readonly #db: Database;
  readonly #claim: Claim;
  readonly #renewal: NodeJS.Timeout;

  constructor(db: Database, claim: Claim) {
    this.#db = db;
    this.#claim = claim;
    this.#renewal = setInterval(() => this.#renew(), renewEveryMs);
    this.#renewal.unref();
  }

  /** To be called in the transaction that creates the session. */
  claim(): void {
    claimLease(this.#db, this.#claim.session, this.#claim.owner);
  }

  /** To be called in the transaction of every write: a process that lost the session must not add to it. */
  assertHeld(): void {
    const { session, owner } = this.#claim;
    const holder = holderOf(this.#db, session);
    if (holder?.owner === owner) return;
    const lost = `Lost session "${session}"`;
    const lasts = `this run did not renew its lease for ${leaseMs / 1000} s`;
    if (holder === undefined)
      throw new KodaError("session_held", `${lost}: ${lasts}, and it was used by another or removed.`);
    throw new KodaError("session_held", `${lost} to ${nameOf(holder)}: ${lasts}.`);
  }

  release(): void {
    clearInterval(this.#renewal);
    releaseLease(this.#db, this.#claim);
  }

  #renew(): void {
    const { session, owner } = this.#claim;
    const expires = Date.now() + leaseMs;
    tryToRun(this.#db, "UPDATE lease SET expires = ? WHERE session = ? AND owner = ?", [expires, session, owner]);
  }
}

/** A full disk may have space again at the next renewal; if not, the next write of an item fails. */
function tryToRun(db: Database, sql: string, values: (string | number)[]): void {
  try {
    db.run(sql, values);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
  }
}

/** Repeats the attempt until the session is free, or throws the last refusal when the wait is over. */
export async function whenFree<T>(attempt: () => T, wait: Wait): Promise<T> {
  const deadline = Date.now() + wait.ms;
  let isNoted = false;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
    wait.signal?.throwIfAborted();
    try {
      return attempt();
    } catch (error) {
      const leftMs = deadline - Date.now();
      if (!(error instanceof SessionHeld) || leftMs <= 0) throw error;
      if (!isNoted)
        wait.note?.(`waiting up to ${formatDuration(wait.ms)} for session "${error.session}": ${error.holding}`);
      isNoted = true;
      await pause(Math.min(pauseMs, leftMs), wait.signal);
    }
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    const { setTimeout: sleep } = await import("node:timers/promises");
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // The caller reads the signal's reason, not the timer's AbortError.
    signal?.throwIfAborted();
    throw error;
  }
}

type Holder = ProcessIdentity & { session: string; owner: string; since: number; expires: number };

function holderOf(db: Database, session: string): Holder | undefined {
  return db.get<Holder>("SELECT * FROM lease WHERE session = ?", [session]);
}

function holds(holder: Holder): boolean {
  return holder.expires > Date.now() && !isProcessGone(holder);
}

function shownSince(ms: number): string {
  return `${Math.max(0, Math.round((Date.now() - ms) / 1000))} s`;
}

function nameOf({ pid, host }: Holder): string {
  return pid === process.pid && host === thisProcess().host ? "this process" : `process ${pid} on host "${host}"`;
}
