import { aborted } from "../../async/aborted.ts";
import { afterGrace } from "../../async/aftergrace.ts";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { within } from "../../async/within.ts";
import { exitByCode, KodaError, messageOf } from "../../errors.ts";
import { type AttemptContext, AttemptStop } from "./attemptcontext.ts";
import type { FleetEvent } from "../events.ts";
import { traceOf } from "./failure.ts";
import { reachStore } from "./reach.ts";
import { eventOf } from "./settledevent.ts";
import type { AttemptEnd, TaskClaim, FleetStore, Idle, Settled, Spending, WorkerIdentity } from "../store.ts";

type WorkerOptions = {
  store: FleetStore;
  identity: WorkerIdentity;
  concurrency: number;
  /** Only tasks of this one, until it is over. */
  batch?: string | undefined;
  /** Ends after one task. */
  once?: boolean | undefined;
  /** Ends when there was nothing to do for so long. */
  drainAfterMs?: number | undefined;
  attempts: {
    run(claim: TaskClaim, context: AttemptContext): Promise<AttemptEnd>;
    settled(claim: TaskClaim, settled: Pick<Settled, "kind">): Promise<string | undefined>;
  };
  note(event: FleetEvent): void;
  /** For how long a store that cannot be reached is asked again. */
  patienceMs?: number | undefined;
};

/** Why a worker took no more tasks. `exit` is 0 unless something was wrong. */
export type WorkerEnd = { why: string; exit: number };

type Running = { claim: TaskClaim; stop: AbortController; spent: Spending; done: Promise<void> };

/** A store that restarts, or a network that is down for a while, costs no attempt. */
const usualPatienceMs = 10 * 60_000;

/** A worker that is told to stop still says what became of its tasks. */
const lastWordsMs = 10_000;

/** An idle worker asks now and then: its share of a processor, and of the store, has to be small. */
const firstIdleMs = 100;
const longestIdleMs = 3_000;

/** Claims tasks, carries them out and settles them, until there is a reason to stop. */
export class FleetWorker {
  readonly #options: WorkerOptions;
  readonly #running = new Map<TaskClaim, Running>();
  #end: WorkerEnd | undefined;
  #begun = 0;
  /** Replaced each time that something may have made another task free. */
  #change = Promise.withResolvers<void>();
  #last: AbortSignal = new AbortController().signal;
  #isInTrouble = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** The signal stops the running attempts, whose tasks are given back. */
  async run(signal: AbortSignal): Promise<WorkerEnd> {
    const { store, identity, note } = this.#options;
    this.#last = afterGrace(signal, lastWordsMs);
    const over = new AbortController();
    const keeping = this.#keepUp(over.signal);
    const stopping = aborted(AbortSignal.any([signal, over.signal])).then(() => this.#stopAll(signal));
    try {
      await this.#work(signal);
    } finally {
      await Promise.all([...this.#running.values()].map(({ done }) => done));
      over.abort();
      this.#wake();
      await Promise.all([keeping, stopping]);
    }
    const end = this.#end ?? { why: "nothing is left to do", exit: 0 };
    await this.#reach(() => store.leave(identity, end.why)).catch((error: unknown) => this.#fail(error));
    const { why, exit } = this.#end ?? end;
    note({ type: "worker.stop", worker: identity.id, why, ...(exit !== 0 && { exit }) });
    return { why, exit };
  }

  async #work(signal: AbortSignal): Promise<void> {
    let idleSince = performance.now();
    let idleMs = firstIdleMs;
    while (this.#end === undefined && !signal.aborted) {
      if (this.#isFull()) {
        await this.#changed();
        idleSince = performance.now();
        continue;
      }
      // It may come while the store is asked.
      const change = this.#change.promise.then(() => (idleMs = firstIdleMs));
      const claim = await this.#claim();
      if (claim === undefined) return;
      if ("task" in claim) {
        this.#begin(claim, signal);
        [idleSince, idleMs] = [performance.now(), firstIdleMs];
        continue;
      }
      if (this.#running.size > 0) idleSince = performance.now();
      if (this.#isOver(claim, performance.now() - idleSince)) return;
      await within(idleMs * (0.75 + Math.random() / 2), change);
      idleMs = Math.min(idleMs * 2, longestIdleMs);
    }
  }

  #isFull(): boolean {
    const { once, concurrency } = this.#options;
    return this.#running.size >= concurrency || (once === true && this.#begun > 0);
  }

  /** An attempt has ended, or there is a reason to stop. */
  async #changed(): Promise<void> {
    if (this.#options.once === true && this.#running.size === 0) this.#stop({ why: "its one task has ended", exit: 0 });
    else await this.#change.promise;
  }

  #isOver(idle: Idle, idleMs: number): boolean {
    const { batch, once, drainAfterMs = Infinity } = this.#options;
    if (this.#running.size > 0) return false;
    if (idle.isOver && (batch !== undefined || once === true)) return true;
    if (idleMs < drainAfterMs) return false;
    this.#stop({ why: "there was nothing to do", exit: 0 });
    return true;
  }

  async #claim(): Promise<TaskClaim | Idle | undefined> {
    const { store, identity, batch } = this.#options;
    try {
      return await this.#reach(() => store.claim(identity, batch));
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #begin(claim: TaskClaim, signal: AbortSignal): void {
    const stop = new AbortController();
    // It was on its way when the worker was told to stop.
    if (signal.aborted) stop.abort(new AttemptStop("leaving"));
    const running: Running = { claim, stop, spent: { costUsd: 0, tokens: 0 }, done: Promise.resolve() };
    this.#begun++;
    this.#running.set(claim, running);
    this.#wake();
    running.done = this.#carryOut(running)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#running.delete(claim);
        this.#wake();
      });
  }

  async #carryOut(running: Running): Promise<void> {
    const { claim, stop } = running;
    const { store, identity, attempts, note } = this.#options;
    const { batch, task, attempt } = claim;
    const tell = (message: string) => note({ type: "task.note", batch, key: task.key, message });
    note({ type: "task.start", batch, key: task.key, attempt, worker: identity.id });
    const end = await attempts.run(claim, {
      stop: stop.signal,
      onSpent: (spent) => void (running.spent = spent),
      note: tell,
      reach: (ask) => this.#reach(ask),
      holds: async () => (await this.#reach(() => this.#keep([running]))).get(claim) === "held",
    });
    // Before others may claim it again.
    if (end.kind === "fault")
      this.#stop({ why: end.error?.message ?? `koda exec exited with ${end.exit}`, exit: end.exit });
    const settled = await this.#reach(() => store.end(claim, end));
    const problem = await attempts.settled(claim, settled);
    if (problem !== undefined) tell(problem);
    note(eventOf(claim, end, settled));
  }

  /** Says that the worker lives, often enough for each of its claims, and obeys what it hears. */
  async #keepUp(over: AbortSignal): Promise<void> {
    // With its first task at once: until then nobody knows of it.
    let keptAt = -Infinity;
    while (!over.aborted) {
      const leases = [...this.#running.keys()].map(({ settings }) => settings.leaseMs);
      if (leases.length === 0) {
        await this.#change.promise;
        continue;
      }
      const dueMs = keptAt + Math.min(...leases) / 3 - performance.now();
      if (dueMs > 0) {
        await within(dueMs, this.#change.promise);
        continue;
      }
      await this.#keepAll(over);
      keptAt = performance.now();
    }
  }

  /** Attempts go on while the store is away; if that takes too long, their ends are refused. */
  async #keepAll(over: AbortSignal): Promise<void> {
    try {
      await unlessAborted(this.#keep([...this.#running.values()]), over);
      this.#isInTrouble = false;
    } catch (error) {
      if (over.aborted) return;
      this.#trouble(messageOf(error));
      if (!(error instanceof KodaError)) this.#fail(error);
    }
  }

  async #keep(running: readonly Running[]) {
    const { store, identity } = this.#options;
    const spent = new Map(running.map(({ claim, spent }) => [claim, spent]));
    const standings = await store.keep(identity, spent);
    for (const { claim, stop } of running) {
      const standing = standings.get(claim);
      if (standing === "lost" || standing === "cancelled") stop.abort(new AttemptStop(standing));
    }
    return standings;
  }

  #stopAll(signal: AbortSignal): void {
    if (!signal.aborted) return;
    const reason: unknown = signal.reason;
    this.#stop({ why: messageOf(reason), exit: reason instanceof KodaError ? exitByCode[reason.code] : 143 });
    for (const { stop } of this.#running.values()) stop.abort(new AttemptStop("leaving"));
  }

  #fail(error: unknown): void {
    const code = error instanceof KodaError ? error.code : "internal";
    this.#stop({ why: traceOf(error), exit: exitByCode[code] });
  }

  /** The first reason counts. */
  #stop(end: WorkerEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  async #reach<T>(ask: () => Promise<T>): Promise<T> {
    const { patienceMs = usualPatienceMs } = this.#options;
    return await reachStore(ask, { patienceMs, signal: this.#last, onTrouble: (message) => this.#trouble(message) });
  }

  #trouble(message: string): void {
    if (this.#isInTrouble) return;
    this.#isInTrouble = true;
    this.#options.note({ type: "worker.note", worker: this.#options.identity.id, message });
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
