import { messageOf } from "../../errors.ts";
import type { LogTransfer } from "../../session/transfer.ts";
import { takeCheckpoint } from "./checkpoint.ts";
import type { Masks } from "./masks.ts";
import type { WorkTree } from "./worktree.ts";
import type { TaskClaim, FleetStore } from "../store.ts";

type CheckpointingOptions = {
  store: FleetStore;
  logs: LogTransfer;
  masks: Masks;
  tree: WorkTree;
  stored: number;
  note(message: string): void;
  askStore<T>(ask: () => Promise<T>): Promise<T>;
  checkpointMs?: number | undefined;
};

const usualMs = 10_000;

/** The last one is made when all is being stopped. */
const limitMs = 60_000;

/** Gives the store what another machine needs to go on with the attempt: now and then, and at its end. */
export class Checkpointing implements AsyncDisposable {
  /** The store has all of the session. */
  isWhole = false;
  readonly #claim: TaskClaim;
  readonly #options: CheckpointingOptions;
  readonly #isWanted: boolean;
  #stored: number;
  #lastAt = performance.now();
  #current: Promise<void> | undefined;
  #complaint = "";
  readonly #over = new AbortController();

  constructor(claim: TaskClaim, options: CheckpointingOptions) {
    this.#claim = claim;
    this.#options = options;
    this.#stored = options.stored;
    this.#isWanted = claim.settings.transcripts !== "none";
  }

  /** A reply has been recorded. */
  replied(): void {
    const { checkpointMs = usualMs } = this.#options;
    if (!this.#isWanted || this.#current !== undefined || performance.now() - this.#lastAt < checkpointMs) return;
    this.#current = this.#take((ask) => ask())
      // The next one brings what this one has not.
      .catch((error: unknown) => {
        if (!this.#over.signal.aborted) this.#complain(`A checkpoint could not be stored: ${messageOf(error)}`);
      })
      .finally(() => {
        this.#current = undefined;
        this.#lastAt = performance.now();
      });
  }

  /** The last one. Without it the next attempt begins where the one before it was. */
  async finish(): Promise<void> {
    await this.#current;
    if (!this.#isWanted) return;
    try {
      await this.#take((ask) => this.#options.askStore(ask));
      this.isWhole = this.#options.tree.shadow !== undefined;
    } catch (error) {
      // A full disk is found by what comes next, and is no reason to lose the end of the attempt.
      if (!(error instanceof Error)) throw error;
      this.#complain(`The last checkpoint could not be stored: ${messageOf(error)}`);
    }
  }

  /** Once: a tree that is too large stays so. */
  #complain(message: string): void {
    if (message !== this.#complaint) this.#options.note(message);
    this.#complaint = message;
  }

  /** Ends the one that the last reply began: it would be in the way of what is done with the tree now. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#current;
  }

  async #take(askStore: <T>(ask: () => Promise<T>) => Promise<T>): Promise<void> {
    const signal = AbortSignal.any([AbortSignal.timeout(limitMs), this.#over.signal]);
    const taken = await takeCheckpoint(this.#options, this.#stored, signal);
    if (taken === undefined) return;
    const { to, ...checkpoint } = taken;
    if (await askStore(() => this.#options.store.checkpoint(this.#claim, checkpoint))) this.#stored = to;
  }
}
