import { unlessAborted } from "../../async/unlessaborted.ts";
import { within } from "../../async/within.ts";
import type { FleetEvent } from "../events.ts";
import type { FleetStore, Idle, WorkerIdentity } from "../store.ts";
import type { StoreRetry } from "./storeretry.ts";

type IdleOptions = {
  store: Pick<FleetStore, "missingLabels">;
  identity: WorkerIdentity;
  retry: StoreRetry;
  batch?: string | undefined;
  once?: boolean | undefined;
  drainAfterMs?: number | undefined;
  note(event: FleetEvent): void;
  signal: AbortSignal;
};

/** An idle worker asks now and then: its share of a processor, and of the store, has to be small. */
const firstPauseMs = 100;
const longestPauseMs = 3_000;

/** The time in which a worker has no task. */
export class IdleTime {
  readonly #options: IdleOptions;
  #since = performance.now();
  #pauseMs = firstPauseMs;
  #hasSaidWhy = false;

  constructor(options: IdleOptions) {
    this.#options = options;
  }

  /** Counts from now: other tasks still run. */
  restart(): void {
    this.#since = performance.now();
  }

  /** A task has begun. */
  end(): void {
    this.restart();
    this.#pauseMs = firstPauseMs;
    this.#hasSaidWhy = false;
  }

  /** Why the worker is to stop, if it is. */
  async whyStop({ isOver }: Idle): Promise<string | undefined> {
    const { batch, once, drainAfterMs } = this.#options;
    if (isOver && (batch !== undefined || once === true)) return "nothing left to do";
    if (drainAfterMs === undefined && !isOver) await this.#sayWhy();
    if (performance.now() - this.#since < (drainAfterMs ?? Infinity)) return undefined;
    const left = isOver ? "" : `, but ${(await this.#why()) || "some tasks are running elsewhere or waiting"}`;
    return `nothing to do${left}`;
  }

  /** A change ends it early. */
  async pause(change: Promise<void>): Promise<void> {
    const changed = change.then(() => (this.#pauseMs = firstPauseMs));
    await within(this.#pauseMs * (0.75 + Math.random() / 2), changed);
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  async #sayWhy(): Promise<void> {
    if (this.#hasSaidWhy) return;
    this.#hasSaidWhy = true;
    const { identity, note } = this.#options;
    const why = await this.#why();
    if (why !== "") note({ type: "worker.note", worker: identity.id, message: `Waiting: ${why}` });
  }

  /** Empty when there is no reason but that nothing is to be done. */
  async #why(): Promise<string> {
    const { store, identity, retry, batch, signal } = this.#options;
    const asked = retry.once(() => store.missingLabels(identity, batch));
    // The next claim has the same trouble with the store, and says so.
    const missing = await unlessAborted(asked, signal).catch(() => []);
    return missing.length === 0 ? "" : `some tasks need labels that this worker does not have: ${missing.join(", ")}`;
  }
}
