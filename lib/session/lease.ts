import { formatDuration } from "../config/units.ts";
import { KodaError } from "../errors.ts";
import type { Database } from "./database.ts";
import { isProcessGone, type ProcessIdentity, thisProcess } from "./process.ts";

const leaseMs = 30_000;
const renewEveryMs = 10_000;

/** How long to wait for a session that another process holds; `note` is told once what is waited for. */
export type Wait = { ms: number; note?: (text: string) => void; signal?: AbortSignal };

/** A session that another process holds, and what to do about it. */
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

/** A word by which a lease knows its owner. */
export function newOwner(): string {
  return crypto.randomUUID();
}

/**
 * Takes a session for this process and returns its owner's word. Belongs inside the transaction that reads or makes
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

/** Throws `session_held`, with this advice, when a process holds the session at this moment. */
export function assertFree(db: Database, session: string, advice: string): void {
  const holder = holderOf(db, session);
  if (holder !== undefined && holds(holder)) throw new SessionHeld(holder, advice);
}

/** Says whether a process holds the session at this moment. */
export function isHeld(db: Database, session: string): boolean {
  const holder = holderOf(db, session);
  return holder !== undefined && holds(holder);
}

/** A lease that cannot be released ends by itself, or with its process: no reason to fail at the end of a good run. */
export function releaseLease(db: Database, { session, owner }: Claim): void {
  tryToRun(db, "DELETE FROM lease WHERE session = ? AND owner = ?", [session, owner]);
}

type Claim = { session: string; owner: string };

/**
 * A claim that is kept up from when it is made until it is released. One whose owner slept for longer than it lasts may be taken by another
 * process, and then the first owner's next write fails.
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

  /** Belongs inside the transaction that makes the session. */
  claim(): void {
    claimLease(this.#db, this.#claim.session, this.#claim.owner);
  }

  /** Belongs inside the transaction of every write: who lost the session must not add to it. */
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

/** A full disk may have space again at the next tick, and if not, the next write of an item says so. */
function tryToRun(db: Database, sql: string, values: (string | number)[]): void {
  try {
    db.run(sql, values);
  } catch (error) {
    if (!(error instanceof KodaError)) throw error;
  }
}

/** Takes what `attempt` takes, as soon as whoever holds the session lets go of it, or throws the last refusal. */
export async function whenFree<T>(attempt: () => T, wait: Wait): Promise<T> {
  const deadline = Date.now() + wait.ms;
  let isTold = false;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
    wait.signal?.throwIfAborted();
    try {
      return attempt();
    } catch (error) {
      const leftMs = deadline - Date.now();
      if (!(error instanceof SessionHeld) || leftMs <= 0) throw error;
      if (!isTold)
        wait.note?.(`waiting up to ${formatDuration(wait.ms)} for session "${error.session}": ${error.holding}`);
      isTold = true;
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
