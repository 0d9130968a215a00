import { join } from "node:path";
import { errnoOf, reasonOf } from "../errors.ts";
import { protectedName } from "../sandbox/policy/reach.ts";
import { Contents, putWhole } from "./contents.ts";
import { type DirectoryChanges, directoryChanges } from "./directories.ts";
import type { Change } from "./patch.ts";
import type { Past } from "./past.ts";
import { type FileState, stateOf } from "./state.ts";

/*
 * The stored form of a snapshot: the files that were changed in its time, as they were before and after. It needs
 * neither the repository's objects, which git may prune, nor the run's own directory.
 */

/** The place of a snapshot: by the session, and the item of its log that began the changes. */
export type SnapshotKey = { snapshots: string; session: string; by: "turn" | "rollback"; seq: number };

/** The changes below one directory. */
export type Manifest = {
  /** Absolute; the paths of the changes are relative to it. */
  root: string;
  changes: { path: string; before: FileState; after: FileState }[];
} & DirectoryChanges;

export function sessionPath({ snapshots, session }: Pick<SnapshotKey, "snapshots" | "session">): string {
  // `..` is a session's name too, and some file systems do not tell capitals.
  const name = session.replace(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`);
  return join(snapshots, "sessions", `s-${name}`);
}

export function manifestPath(key: SnapshotKey): string {
  return join(sessionPath(key), `${key.by}-${key.seq}.json`);
}

/** Keeps the files that were changed, as they were before. The manifest comes last: without it there is nothing. */
export class SnapshotRecorder {
  readonly #key: SnapshotKey;
  readonly #contents: Contents;
  readonly #changes: Manifest["changes"] = [];
  #count = 0;
  #problem: string | undefined;

  constructor(key: SnapshotKey) {
    this.#key = key;
    this.#contents = new Contents(key.snapshots);
  }

  /** How many files were changed, kept or not. */
  get count(): number {
    return this.#count;
  }

  /** The reason why nothing is kept. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The bytes on the disk that were added. */
  get added(): number {
    return this.#contents.added;
  }

  /** Passes changes on. */
  async *along(changes: AsyncIterable<Change>): AsyncGenerator<Change> {
    for await (const change of changes) {
      this.#attempt(() => this.#add(change));
      yield change;
    }
  }

  async finish(past: Past, signal: AbortSignal): Promise<void> {
    if (this.#count === 0) return;
    const added = this.#changes.flatMap(({ path, before }) => (before.kind === "missing" ? path : []));
    const directories = await directoryChanges(past, added, signal);
    this.#attempt(() => this.write([{ root: past.policy.root, changes: this.#changes, ...directories }]));
  }

  /** Keeps a content and returns its hash. */
  readonly keep = (bytes: Uint8Array): string => this.#contents.add(bytes);

  /** Everything that the manifests name has been kept by now. */
  write(manifests: readonly Manifest[]): void {
    const some = manifests.filter(({ changes }) => changes.length > 0);
    if (some.length > 0) putWhole(manifestPath(this.#key), JSON.stringify(some));
  }

  #add({ path, before, after }: Change): void {
    // Commands cannot write there: someone else did.
    if (protectedName(path) !== undefined) return;
    this.#count++;
    this.#changes.push({ path, before: stateOf(before, this.keep), after: stateOf(after) });
  }

  /** The turn goes on when the disk is full, and the diff is told. */
  #attempt(step: () => void): void {
    if (this.#problem !== undefined) return;
    try {
      step();
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      this.#problem = reasonOf(error);
    }
  }
}
