import { unlessAborted } from "../../async/unlessaborted.ts";
import { within } from "../../async/within.ts";
import { AttemptStop } from "./attemptcontext.ts";
import { isUnreachable, type StoreRetry } from "./storeretry.ts";
import type { FleetStore, Spending, Standing, TaskClaim, WorkerIdentity } from "../store.ts";

type HeldOptions = {
  store: Pick<FleetStore, "keep">;
  identity: WorkerIdentity;
  retry: StoreRetry;
  /** Something is wrong that waiting does not help. */
  onFailure(error: unknown): void;
};

type Held = { claim: TaskClaim; stop: AbortController; spent: Spending };

/** The claims that a worker holds, as long as it says that it lives. */
export class HeldClaims {
  readonly #options: HeldOptions;
  readonly #held = new Map<TaskClaim, Held>();
  #change = Promise.withResolvers<void>();

  constructor(options: HeldOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  add(claim: TaskClaim): Held {
    const held = { claim, stop: new AbortController(), spent: { costUsd: 0, tokens: 0 } };
    this.#held.set(claim, held);
    this.#wake();
    return held;
  }

  remove(claim: TaskClaim): void {
    this.#held.delete(claim);
  }

  stopAll(why: AttemptStop["why"]): void {
    for (const { stop } of this.#held.values()) stop.abort(new AttemptStop(why));
  }

  /** The store says so, now. */
  async isHeld(held: Held): Promise<boolean> {
    const standings = await this.#options.retry.ask(() => this.#keep([held]));
    return standings.get(held.claim) === "held";
  }

  /** Says that the worker lives, often enough for each claim, and obeys what it hears. */
  async sendHeartbeats(over: AbortSignal): Promise<void> {
    over.addEventListener("abort", () => this.#wake(), { once: true });
    // With its first task at once: until then nobody knows of it.
    let keptAt = -Infinity;
    while (!over.aborted) {
      const leases = [...this.#held.keys()].map(({ settings }) => settings.leaseMs);
      const dueMs = keptAt + Math.min(...leases) / 3 - performance.now();
      if (leases.length === 0) await this.#change.promise;
      else if (dueMs > 0) await this.#changeWithin(dueMs);
      else {
        await this.#heartbeat(over);
        keptAt = performance.now();
      }
    }
  }

  /** For a new one: the waits of a long attempt would all stay with the old one. */
  async #changeWithin(ms: number): Promise<void> {
    this.#change = Promise.withResolvers();
    await within(ms, this.#change.promise);
  }

  /** Attempts go on while the store is away; if that takes too long, their ends are refused. */
  async #heartbeat(over: AbortSignal): Promise<void> {
    const { retry, onFailure } = this.#options;
    try {
      await unlessAborted(
        retry.once(() => this.#keep([...this.#held.values()])),
        over,
      );
    } catch (error) {
      if (!over.aborted && !isUnreachable(error)) onFailure(error);
    }
  }

  async #keep(some: readonly Held[]): Promise<ReadonlyMap<TaskClaim, Standing>> {
    const { store, identity } = this.#options;
    const standings = await store.keep(identity, new Map(some.map(({ claim, spent }) => [claim, spent])));
    for (const { claim, stop } of some) {
      const standing = standings.get(claim);
      if (standing === "lost" || standing === "cancelled") stop.abort(new AttemptStop(standing));
    }
    return standings;
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
