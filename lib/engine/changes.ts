import { afterGrace } from "../async/aftergrace.ts";
import { counted } from "../counted.ts";
import { KodaError, messageOf } from "../errors.ts";
import type { GitPatch } from "../worktree/gitpatch.ts";
import type { IsOwn } from "../worktree/past.ts";
import type { SnapshotKey } from "../worktree/record.ts";
import type { WorkDiff } from "../worktree/patch.ts";
import type { Snapshot, SnapshotOptions } from "../worktree/snapshot.ts";
import type { Event } from "./event.ts";

/** The files that koda itself writes in the project. */
export type OwnOutput = {
  /** Finds them again: programs that koda's output is piped to (`| tee log.txt`) come and go. */
  look(): void;
  has: IsOwn;
};

type ChangesOptions = Pick<SnapshotOptions, "policy" | "searchPath"> & {
  own: OwnOutput;
  /** Finds a directory for the snapshot's copies. */
  temporary: () => string;
  /** The place where the files are kept as they were; absent for a run that keeps nothing. */
  keep?: SnapshotKey | undefined;
};

/** A turn still reports its changes, but does not delay its end for long; less when it is being stopped. */
const collectMs = 10_000;
const graceMs = 2_000;

/** A patch is asked for, so it may take longer. */
const patchMs = 120_000;
const patchGraceMs = 5_000;

/** The changes of one turn in the project, made by tools or by commands. */
export class Changes implements AsyncDisposable {
  readonly #options: ChangesOptions;
  #watching: Promise<void> | undefined;
  #snapshot: Snapshot | undefined;
  #problem: string | undefined;
  #paths: readonly string[] = [];
  #count: number | undefined;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** The files that were different at the last look. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  /** How many files changed until the last look, as far as that is known. */
  get count(): number | undefined {
    return this.isWatching ? this.#count : 0;
  }

  /** True when something may have changed: without a snapshot nothing has. */
  get isWatching(): boolean {
    return this.#snapshot !== undefined || this.#problem !== undefined;
  }

  /** False when the changes could not be determined. */
  get isKnown(): boolean {
    return this.#problem === undefined;
  }

  /** Takes the snapshot of the turn, once: before the first call that may write. */
  watch(signal: AbortSignal): Promise<void> {
    return (this.#watching ??= this.#take(signal));
  }

  async #take(signal: AbortSignal): Promise<void> {
    const { own, temporary, keep: _, ...options } = this.#options;
    try {
      const { takeSnapshot } = await import("../worktree/snapshot.ts");
      own.look();
      this.#snapshot = await takeSnapshot({ ...options, temporary: temporary(), isOwn: own.has }, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The work can go on; that its changes are unknown is reported at the end.
      this.#problem = messageOf(error);
    }
  }

  /** The changes since the snapshot. */
  async collect(stop: AbortSignal): Promise<Event[]> {
    if (this.#problem !== undefined) return [cannotTell(this.#problem)];
    if (this.#snapshot === undefined) return [];
    try {
      this.#options.own.look();
      const limit = AbortSignal.any([AbortSignal.timeout(collectMs), afterGrace(stop, graceMs)]);
      const { files, patch, notes } = await this.#look(this.#snapshot, limit);
      this.#paths = files.map(({ path }) => path);
      const events = notes.map(notice);
      return files.length === 0 ? events : [...events, { type: "diff", files: [...files], patch }];
    } catch (error) {
      this.#problem = messageOf(error);
      return [cannotTell(this.#problem)];
    }
  }

  /** The changes since the snapshot as a patch, taken when nothing can write any more. */
  async patch(stop: AbortSignal): Promise<GitPatch> {
    try {
      if (this.#snapshot === undefined) throw new Error(this.#problem ?? "there is no snapshot");
      this.#options.own.look();
      const signal = AbortSignal.any([AbortSignal.timeout(patchMs), afterGrace(stop, patchGraceMs)]);
      return await this.#snapshot.patch(signal);
    } catch (error) {
      throw new KodaError("output", `Cannot make the patch (--patch): ${messageOf(error)}`, { cause: error });
    }
  }

  async #look(snapshot: Snapshot, limit: AbortSignal): Promise<WorkDiff> {
    const { keep } = this.#options;
    if (keep === undefined) return await snapshot.changes(limit);
    const { count, added, problem, ...diff } = await snapshot.record(keep, limit);
    this.#count = count;
    if (problem !== undefined) return { ...diff, notes: [...diff.notes, `${cannotRestore}: ${problem}`] };
    if (added === 0) return diff;
    const { makeRoom } = await import("../worktree/sweep.ts");
    const forgotten = makeRoom(keep.snapshots, added);
    return forgotten === 0 ? diff : { ...diff, notes: [...diff.notes, forgottenNote(forgotten)] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watching?.catch(() => undefined);
    await this.#snapshot?.[Symbol.asyncDispose]();
  }
}

const cannotRestore = "koda session rollback --files will not restore the files of this turn";

function forgottenNote(turns: number): string {
  const limit = "snapshots take no more than 2 GiB";
  return `koda session rollback --files can no longer restore the files of the oldest ${counted(turns, "turn")}: ${limit}`;
}

function cannotTell(problem: string): Event {
  return notice(`Could not determine the changes of this turn: ${problem}`);
}

function notice(message: string): Event {
  return { type: "notice", level: "warn", code: "changes", message };
}
