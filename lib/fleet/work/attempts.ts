import { LogTransfer } from "../../session/transfer.ts";
import { sendSignal } from "../../system/kill.ts";
import { TaskAttempt } from "./attempt.ts";
import type { AttemptContext, AttemptOptions } from "./attemptcontext.ts";
import { leavePlace, removePlace, type WorkPlace } from "./place.ts";
import type { AttemptEnd, Settled, TaskClaim } from "../store.ts";

/** Carries out claims, and cleans up when the store has said what becomes of their tasks. */
export class Attempts implements Disposable {
  readonly #options: AttemptOptions;
  readonly #logs: LogTransfer;
  /** Of the children. */
  readonly #pids = new Set<number>();
  /** Those of attempts that are not settled; `isStored`: a later one can go on without the place. */
  readonly #places = new Map<TaskClaim, { place: WorkPlace; isStored: boolean }>();

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#logs = new LogTransfer(options.database);
  }

  async run(claim: TaskClaim, context: AttemptContext): Promise<AttemptEnd> {
    const startedAt = performance.now();
    const attempt = new TaskAttempt(claim, { ...this.#options, logs: this.#logs, pids: this.#pids }, context);
    const end = await attempt.run();
    if (attempt.place !== undefined) this.#places.set(claim, { place: attempt.place, isStored: attempt.isStored });
    return { ...end, durationMs: Math.round(performance.now() - startedAt) };
  }

  /** For a process that exits at once. */
  killNow(): void {
    for (const pid of this.#pids) sendSignal(pid, "SIGKILL");
  }

  /** Returns why a place could not be removed. */
  async settled(claim: TaskClaim, { kind }: Pick<Settled, "kind">): Promise<string | undefined> {
    const found = this.#places.get(claim);
    this.#places.delete(claim);
    if (found === undefined) return undefined;
    const { place, isStored } = found;
    const { keepTrees = false } = this.#options;
    const goesOn = kind === "retried" || kind === "returned";
    if (!goesOn || (isStored && !keepTrees)) return await removePlace({ ...place, isOwn: place.isOwn || keepTrees });
    leavePlace(place, claim);
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#logs.close();
  }
}
