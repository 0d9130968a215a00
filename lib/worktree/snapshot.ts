import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Copies } from "../files/copies.ts";
import type { Entry } from "../files/entry.ts";
import type { Restoration } from "../files/restore.ts";
import { findGit } from "../git/program.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import type { GitPatch } from "./gitpatch.ts";
import type { Project } from "./listing.ts";
import { diffChanges, type WorkDiff } from "./patch.ts";
import { changesSince, rememberProject, type IsOwn, type Past } from "./past.ts";
import { mostIndexBytes, patchPlaceOf } from "./repository.ts";
import { restoreFiles } from "./restore.ts";

/**
 * A project as it was before a turn, to tell what the turn changed, whoever changed it: koda's tools, or any program
 * that a command ran; and to restore it. What is to be known after the run is stored with the last look.
 */
export class Snapshot implements AsyncDisposable {
  readonly #past: Past;
  readonly #close: () => void;

  constructor(past: Past, close: () => void) {
    this.#past = past;
    this.#close = close;
  }

  /** Lists what is different now, as often as asked. With `storeIn`, `openSnapshot` can open that directory later. */
  async changes(signal: AbortSignal, { storeIn }: { storeIn?: string | undefined } = {}): Promise<WorkDiff> {
    const changes = changesSince(this.#past, signal);
    if (storeIn === undefined) return diffChanges(changes, this.#past);
    const { storeAlong } = await import("./stored.ts");
    return diffChanges(storeAlong(changes, storeIn, this.#past), this.#past);
  }

  /** All that is different now, as a patch for `git apply`. Throws when the project is too large to be watched. */
  async patch(signal: AbortSignal): Promise<GitPatch> {
    const { project, policy, notes } = this.#past;
    if (project === undefined) throw new Error(notes.join(". "));
    const { gitPatchOf } = await import("./gitpatch.ts");
    return gitPatchOf(changesSince(this.#past, signal), patchPlaceOf(policy.root));
  }

  /** Makes files what they were: all, or those at some paths relative to the project. */
  async restore(signal: AbortSignal, paths?: readonly string[]): Promise<readonly Restoration[]> {
    const entries = new Map<string, Entry>();
    for await (const { path, before } of changesSince(this.#past, signal))
      if (paths?.includes(path) ?? true) entries.set(path, before);
    return restoreFiles(entries, this.#past);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }
}

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
      notes: [],
    };
    return new Snapshot({ ...(await rememberProject(project, signal)), isOwn }, close);
  } catch (error) {
    close();
    throw error;
  }
}

/** Opens what an earlier snapshot stored in a directory, if it did. */
export async function openSnapshot(directory: string, policy: Policy): Promise<Snapshot | undefined> {
  // Its schema takes ten milliseconds to load, and most runs open nothing.
  const { openStored } = await import("./stored.ts");
  const stored = openStored(directory, policy.root);
  if (stored === undefined) return undefined;
  const { copies, ...rest } = stored;
  return new Snapshot({ ...rest, policy, notes: [], isOwn: () => false }, () => copies[Symbol.dispose]());
}
