import { aborted } from "../../async/aborted.ts";
import { exitByCode, KodaError, messageOf } from "../../errors.ts";
import { type AttemptContext, AttemptStop } from "./attemptcontext.ts";
import type { FleetEvent } from "../events.ts";
import { traceOf } from "./failure.ts";
import { HeldClaims } from "./heldclaims.ts";
import { IdleTime } from "./idle.ts";
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

/** Claims tasks, carries them out and settles them, until there is a reason to stop. */
export class FleetWorker {
  readonly #options: WorkerOptions;
  readonly #retry: StoreRetry;
  readonly #held: HeldClaims;
  readonly #idle: IdleTime;
  readonly #attempts = new Set<Promise<void>>();
  #end: WorkerEnd | undefined;
  #begun = 0;
  /** Replaced each time that something may have made another task free. */
  #change = Promise.withResolvers<void>();

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { store, identity, signal, patienceMs = usualPatienceMs, note } = options;
    const onOutage = (message: string) => note({ type: "worker.note", worker: identity.id, message });
    this.#retry = new StoreRetry({ patienceMs, signal, graceMs: stopGraceMs, onOutage });
    this.#held = new HeldClaims({ store, identity, retry: this.#retry, onFailure: (error) => this.#fail(error) });
    this.#idle = new IdleTime({ ...options, retry: this.#retry });
  }

  async run(): Promise<WorkerEnd> {
    const { store, identity, signal, note } = this.#options;
    const over = new AbortController();
    const keeping = this.#held.sendHeartbeats(over.signal);
    const stopping = aborted(AbortSignal.any([signal, over.signal])).then(() => this.#stopAll());
    let idle: string | undefined;
    try {
      idle = await this.#work();
    } finally {
      await Promise.all(this.#attempts);
      over.abort();
      await Promise.all([keeping, stopping]);
    }
    const end = this.#end ?? { why: idle ?? "nothing left to do", exit: 0 };
    await this.#retry.ask(() => store.leave(identity, end.why)).catch((error: unknown) => this.#fail(error));
    const { why, exit } = this.#end ?? end;
    note({ type: "worker.stop", worker: identity.id, why, ...(exit !== 0 && { exit }) });
    return { why, exit };
  }

  /** Returns why there is nothing to do, if that is the reason to stop. */
  async #work(): Promise<string | undefined> {
    while (this.#end === undefined && !this.#options.signal.aborted) {
      if (this.#isFull()) {
        await this.#changed();
        this.#idle.restart();
        continue;
      }
      // It may come while the store is asked. A new one: an idle worker would leave every wait of weeks on the old one.
      this.#change = Promise.withResolvers();
      const { promise: change } = this.#change;
      const claim = await this.#claim();
      if (claim === undefined) break;
      if ("task" in claim) {
        this.#begin(claim);
        this.#idle.end();
        continue;
      }
      if (this.#held.size > 0) this.#idle.restart();
      else {
        const why = await this.#idle.whyStop(claim);
        if (why !== undefined) return why;
      }
      await this.#idle.pause(change);
    }
    return undefined;
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
