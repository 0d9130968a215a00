import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf, KodaError } from "../errors.ts";
import type { Database } from "./database.ts";

const leaseMs = 30_000;
const renewEveryMs = 10_000;

/** How long to wait for a session that another process holds. */
export type Wait = { ms: number; signal?: AbortSignal };

/**
 * Takes a session for this process and returns the word by which the lease knows its owner. Belongs inside the
 * transaction that reads or makes the session. Throws `session_held`.
 */
export function claimLease(db: Database, session: string): string {
  const now = Date.now();
  assertFree(db, session);
  const owner = crypto.randomUUID();
  const { pid, started, host, machine } = thisProcess();
  db.run(
    `INSERT OR REPLACE INTO lease (session, owner, pid, started, host, machine, since, expires)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [session, owner, pid, started, host, machine, now, now + leaseMs],
  );
  return owner;
}

/** Throws `session_held` when a process holds the session at this moment. */
export function assertFree(db: Database, session: string): void {
  const holder = holderOf(db, session);
  if (holder !== undefined && holds(holder)) throw heldError(holder);
}

/** Says whether a process holds the session at this moment. */
export function isHeld(db: Database, session: string): boolean {
  const holder = holderOf(db, session);
  return holder !== undefined && holds(holder);
}

/**
 * A claim that is kept up until it is released. One whose owner slept for longer than it lasts may be taken by another
 * process, and then the first owner's next write fails.
 */
export class Lease {
  readonly #db: Database;
  readonly #session: string;
  readonly #owner: string;
  readonly #renewal: NodeJS.Timeout;

  constructor(db: Database, { session, owner }: { session: string; owner: string }) {
    this.#db = db;
    this.#session = session;
    this.#owner = owner;
    this.#renewal = setInterval(() => this.#renew(), renewEveryMs);
    this.#renewal.unref();
  }

  /** Belongs inside the transaction of every write: who lost the session must not add to it. */
  assertHeld(): void {
    const holder = holderOf(this.#db, this.#session);
    if (holder?.owner === this.#owner) return;
    const lost = `Lost session "${this.#session}"`;
    const lasts = `this run did not renew its lease for ${leaseMs / 1000} s`;
    if (holder === undefined)
      throw new KodaError("session_held", `${lost}: ${lasts}, and it was used by another or removed.`);
    throw new KodaError("session_held", `${lost} to ${nameOf(holder)}: ${lasts}.`);
  }

  release(): void {
    clearInterval(this.#renewal);
    this.#try("DELETE FROM lease WHERE session = ? AND owner = ?", [this.#session, this.#owner]);
  }

  #renew(): void {
    const expires = Date.now() + leaseMs;
    this.#try("UPDATE lease SET expires = ? WHERE session = ? AND owner = ?", [expires, this.#session, this.#owner]);
  }

  /**
   * A full disk may have space again at the next tick, and if not, the next write says so. A lease that cannot be
   * released ends by itself, or with its process.
   */
  #try(sql: string, values: (string | number)[]): void {
    try {
      this.#db.run(sql, values);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
    }
  }
}

/** Takes what `attempt` takes, as soon as whoever holds the session lets go of it, or throws the last refusal. */
export async function whenFree<T>(attempt: () => T, wait: Wait): Promise<T> {
  const deadline = Date.now() + wait.ms;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
    wait.signal?.throwIfAborted();
    try {
      return attempt();
    } catch (error) {
      const leftMs = deadline - Date.now();
      if (!(error instanceof KodaError) || error.code !== "session_held" || leftMs <= 0) throw error;
      await pause(Math.min(pauseMs, leftMs), wait.signal);
    }
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    // The caller reads the signal's reason, not the timer's AbortError.
    signal?.throwIfAborted();
    throw error;
  }
}

type ProcessIdentity = { pid: number; started: string; host: string; machine: string };
type Holder = ProcessIdentity & { session: string; owner: string; since: number; expires: number };

function holderOf(db: Database, session: string): Holder | undefined {
  return db.get<Holder>("SELECT * FROM lease WHERE session = ?", [session]);
}

function holds(holder: Holder): boolean {
  return holder.expires > Date.now() && !isGone(holder);
}

let identity: ProcessIdentity | undefined;

function thisProcess(): ProcessIdentity {
  identity ??= { pid: process.pid, started: startOf(process.pid) ?? "", host: hostname(), machine: machineOf() };
  return identity;
}

/** Surely gone, that is: of a process that cannot be seen from here nothing is known but its lease's end. */
function isGone(holder: Holder): boolean {
  if (holder.machine === "" || holder.machine !== thisProcess().machine) return false;
  if (!isAlive(holder.pid)) return true;
  const started = startOf(holder.pid);
  return started !== undefined && holder.started !== "" && started !== holder.started;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}

/**
 * Where a pid means the same process as here: two containers may share a name, and a restarted machine its pids. Empty
 * where that cannot be told (no /proc), and then only the end of a lease frees a session.
 */
function machineOf(): string {
  const boot = attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const pids = attempt(() => readlinkSync("/proc/self/ns/pid"));
  return boot === undefined || pids === undefined ? "" : `${boot} ${pids}`;
}

/** The start time in clock ticks since boot, which a later process with the same pid does not share. */
function startOf(pid: number): string | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The second field is the program's name in parentheses and may hold anything; the start is the 22nd.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Without /proc there is no answer, which is an answer. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

function heldError(holder: Holder): KodaError {
  const seconds = Math.max(0, Math.round((Date.now() - holder.since) / 1000));
  return new KodaError(
    "session_held",
    `Session "${holder.session}" is in use: ${nameOf(holder)} has held it for ${seconds} s. ` +
      `Wait for it with --wait 1m, or copy it with --fork ${holder.session}.`,
    { retryable: true },
  );
}

function nameOf({ pid, host }: Holder): string {
  return pid === process.pid && host === thisProcess().host ? "this process" : `process ${pid} on host "${host}"`;
}
