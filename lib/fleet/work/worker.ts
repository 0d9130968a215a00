import { aborted } from "../../async/aborted.ts";
import { within } from "../../async/within.ts";
import { exitByCode, KodaError, messageOf } from "../../errors.ts";
import { type AttemptContext, AttemptStop } from "./attemptcontext.ts";
import type { FleetEvent } from "../events.ts";
import { traceOf } from "./failure.ts";
import { HeldClaims } from "./heldclaims.ts";
import { StoreRetry } from "./storeretry.ts";
import { eventOf } from "./settledevent.ts";
import type { AttemptEnd, TaskClaim, FleetStore, Idle, Settled, WorkerIdentity } from "../store.ts";

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
  /** Stops the running attempts, whose tasks are given back. */
  signal: AbortSignal;
  /** For how long a store that cannot be reached is asked again. */
  patienceMs?: number | undefined;
};

/** Why a worker took no more tasks. `exit` is 0 unless something was wrong. */
export type WorkerEnd = { why: string; exit: number };

/** A store that restarts, or a network that is down for a while, costs no attempt. */
const usualPatienceMs = 10 * 60_000;

/** A worker that is told to stop still says what became of its tasks. */
const stopGraceMs = 10_000;

/** An idle worker asks now and then: its share of a processor, and of the store, has to be small. */
const firstIdleMs = 100;
const longestIdleMs = 3_000;

/** Claims tasks, carries them out and settles them, until there is a reason to stop. */
export class FleetWorker {
  readonly #options: WorkerOptions;
  readonly #retry: StoreRetry;
  readonly #held: HeldClaims;
  readonly #attempts = new Set<Promise<void>>();
  #end: WorkerEnd | undefined;
  #begun = 0;
  /** Until it begins another task. */
  #hasSaidWhyIdle = false;
  /** Replaced each time that something may have made another task free. */
  #change = Promise.withResolvers<void>();

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { store, identity, signal, patienceMs = usualPatienceMs, note } = options;
    const onOutage = (message: string) => note({ type: "worker.note", worker: identity.id, message });
    this.#retry = new StoreRetry({ patienceMs, signal, graceMs: stopGraceMs, onOutage });
    this.#held = new HeldClaims({ store, identity, retry: this.#retry, onFailure: (error) => this.#fail(error) });
  }

  async run(): Promise<WorkerEnd> {
    const { store, identity, signal, note } = this.#options;
    const over = new AbortController();
    const keeping = this.#held.sendHeartbeats(over.signal);
    const stopping = aborted(AbortSignal.any([signal, over.signal])).then(() => this.#stopAll());
    try {
      await this.#work();
    } finally {
      await Promise.all(this.#attempts);
      over.abort();
      await Promise.all([keeping, stopping]);
    }
    const end = this.#end ?? { why: "nothing is left to do", exit: 0 };
    await this.#retry.ask(() => store.leave(identity, end.why)).catch((error: unknown) => this.#fail(error));
    const { why, exit } = this.#end ?? end;
    note({ type: "worker.stop", worker: identity.id, why, ...(exit !== 0 && { exit }) });
    return { why, exit };
  }

  async #work(): Promise<void> {
    let idleSince = performance.now();
    let idleMs = firstIdleMs;
    while (this.#end === undefined && !this.#options.signal.aborted) {
      if (this.#isFull()) {
        await this.#changed();
        idleSince = performance.now();
        continue;
      }
      // It may come while the store is asked. A new one: an idle worker would leave every wait of weeks on the old one.
      this.#change = Promise.withResolvers();
      const change = this.#change.promise.then(() => (idleMs = firstIdleMs));
      const claim = await this.#claim();
      if (claim === undefined) return;
      if ("task" in claim) {
        this.#begin(claim);
        [idleSince, idleMs] = [performance.now(), firstIdleMs];
        continue;
      }
      if (this.#held.size > 0) idleSince = performance.now();
      if (await this.#isOver(claim, performance.now() - idleSince)) return;
      await within(idleMs * (0.75 + Math.random() / 2), change);
      idleMs = Math.min(idleMs * 2, longestIdleMs);
    }
  }

  #isFull(): boolean {
    const { once, concurrency } = this.#options;
    return this.#held.size >= concurrency || (once === true && this.#begun > 0);
  }

  /** An attempt has ended, or there is a reason to stop. */
  async #changed(): Promise<void> {
    if (this.#options.once === true && this.#held.size === 0) this.#stop({ why: "its one task has ended", exit: 0 });
    else await this.#change.promise;
  }

  async #isOver({ isOver }: Idle, idleMs: number): Promise<boolean> {
    const { batch, once, drainAfterMs } = this.#options;
    if (this.#held.size > 0) return false;
    if (isOver && (batch !== undefined || once === true)) return true;
    if (drainAfterMs === undefined && !isOver) await this.#sayWhyIdle();
    if (idleMs < (drainAfterMs ?? Infinity)) return false;
    const left = isOver
      ? ""
      : `, but tasks are left: ${(await this.#whyIdle()) || "they run elsewhere, or have to wait"}`;
    this.#stop({ why: `there was nothing to do${left}`, exit: 0 });
    return true;
  }

  async #sayWhyIdle(): Promise<void> {
    if (this.#hasSaidWhyIdle) return;
    this.#hasSaidWhyIdle = true;
    const { identity, note } = this.#options;
    const why = await this.#whyIdle();
    if (why !== "") note({ type: "worker.note", worker: identity.id, message: `Waiting: ${why}` });
  }

  /** Empty when there is no reason but that nothing is to be done. */
  async #whyIdle(): Promise<string> {
    const { store, identity, batch } = this.#options;
    // The next claim has the same trouble with the store, and says so.
    const missing = await this.#retry.once(() => store.missingLabels(identity, batch)).catch(() => []);
    return missing.length === 0 ? "" : `some tasks need labels that this worker does not have: ${missing.join(", ")}`;
  }

  async #claim(): Promise<TaskClaim | Idle | undefined> {
    const { store, identity, batch } = this.#options;
    try {
      return await this.#retry.ask(() => store.claim(identity, batch));
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #begin(claim: TaskClaim): void {
    const held = this.#held.add(claim);
    // It was on its way when the worker was told to stop.
    if (this.#options.signal.aborted) held.stop.abort(new AttemptStop("leaving"));
    this.#begun++;
    this.#hasSaidWhyIdle = false;
    const attempt = this.#carryOut(held)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#held.remove(claim);
        this.#attempts.delete(attempt);
        this.#wake();
      });
    this.#attempts.add(attempt);
  }

  async #carryOut(held: ReturnType<HeldClaims["add"]>): Promise<void> {
    const { claim, stop } = held;
    const { store, identity, attempts, note } = this.#options;
    const { batch, task, attempt } = claim;
    const tell = (message: string) => note({ type: "task.note", batch, key: task.key, message });
    note({ type: "task.start", batch, key: task.key, attempt, worker: identity.id });
    const end = await attempts.run(claim, {
      stop: stop.signal,
      onSpent: (spent) => void (held.spent = spent),
      note: tell,
      askStore: (ask) => this.#retry.ask(ask),
      holds: () => this.#held.isHeld(held),
    });
    // Before others may claim it again.
    if (end.kind === "fault") this.#stop({ why: this.#faultOf(claim, end), exit: end.exit });
    const settled = await this.#retry.ask(() => store.end(claim, end));
    const problem = await attempts.settled(claim, settled);
    if (problem !== undefined) tell(problem);
    note(eventOf(claim, end, settled));
  }

  /** A worker of any batch says which one it was: an old one that nobody wants is to be cancelled. */
  #faultOf({ batch, task }: TaskClaim, { exit, error }: AttemptEnd): string {
    const why = error?.message ?? `koda exec exited with ${exit}`;
    return this.#options.batch === undefined ? `${why} (task "${task.key}" of batch ${batch})` : why;
  }

  #stopAll(): void {
    const { signal } = this.#options;
    if (!signal.aborted) return;
    const reason: unknown = signal.reason;
    this.#stop({ why: messageOf(reason), exit: reason instanceof KodaError ? exitByCode[reason.code] : 143 });
    this.#held.stopAll("leaving");
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

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
