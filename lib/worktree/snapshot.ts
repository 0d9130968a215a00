import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Copies } from "../files/copies.ts";
import { findGit } from "../git/program.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import type { GitPatch } from "./gitpatch.ts";
import type { Project } from "./listing.ts";
import { diffChanges, type WorkDiff } from "./patch.ts";
import { changesSince, rememberProject, type IsOwn, type Past } from "./past.ts";
import { SnapshotRecorder, type SnapshotKey } from "./record.ts";
import { mostIndexBytes, patchPlaceOf } from "./repository.ts";

/**
 * A project as it was before a turn, to tell what the turn changed, whoever changed it: koda's tools, or any program
 * that a command ran. What is to be restored later is stored with the last look.
 */
export class Snapshot implements AsyncDisposable {
  readonly #past: Past;
  readonly #close: () => void;

  constructor(past: Past, close: () => void) {
    this.#past = past;
    this.#close = close;
  }

  /** Lists what is different now, as often as asked. */
  changes(signal: AbortSignal): Promise<WorkDiff> {
    return diffChanges(changesSince(this.#past, signal), this.#past);
  }

  /** The same, and keeps the files as they were. */
  async record(key: SnapshotKey, signal: AbortSignal): Promise<Recorded> {
    const recorder = new SnapshotRecorder(key);
    const diff = await diffChanges(recorder.along(changesSince(this.#past, signal)), this.#past);
    await recorder.finish(this.#past, signal);
    const { added, problem } = recorder;
    // Nothing is known of a project with too many files.
    return { ...diff, count: this.#past.project && recorder.count, added, problem };
  }

  /** All that is different now, as a patch for `git apply`. Throws when the project is too large to be watched. */
  async patch(signal: AbortSignal): Promise<GitPatch> {
    const { project, policy, notes } = this.#past;
    if (project === undefined) throw new Error(notes.join(". "));
    const { gitPatchOf } = await import("./gitpatch.ts");
    return gitPatchOf(changesSince(this.#past, signal), patchPlaceOf(policy.root));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }
}

type Recorded = WorkDiff & Pick<SnapshotRecorder, "added" | "problem"> & { count: number | undefined };

export type SnapshotOptions = {
  policy: Policy;
  /** Temporary directories are made in it. Commands must not be able to write there. */
  temporary: string;
  /** The user's PATH, for finding git. */
  searchPath: string | undefined;
  isOwn?: IsOwn;
};

export async function takeSnapshot(options: SnapshotOptions, signal: AbortSignal): Promise<Snapshot> {
  const { policy, temporary, searchPath, isOwn = () => false } = options;
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const scratch = realpathSync(mkdtempSync(join(temporary, "koda-snapshot-")));
  const copies = new Copies(join(scratch, "copies"));
  const close = () => {
    copies[Symbol.dispose]();
    rmSync(scratch, { recursive: true, force: true });
  };
  try {
    const project: Project = {
      policy,
      findGit: () => findGit(searchPath, [policy.root, ...policy.write]),
      scratch,
      room: { bytes: mostIndexBytes },
      copies,
      repositories: new Map(),
      directories: new Set(),
      notes: [],
    };
    return new Snapshot({ ...(await rememberProject(project, signal)), isOwn }, close);
  } catch (error) {
    close();
    throw error;
  }
}
