import { realpathSync } from "node:fs";
import { relative } from "node:path";
import { errnoOf, KodaError, reasonOf, unlessRefused } from "../errors.ts";
import { Unrestorable } from "../files/restore.ts";
import type { LoggedItem } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import { Contents } from "../worktree/contents.ts";
import { readManifest } from "../worktree/manifest.ts";
import { planRestoration, type RestorePlan } from "../worktree/plan.ts";
import { type Manifest, manifestPath, type SnapshotKey, SnapshotRecorder } from "../worktree/record.ts";
import { removeStaged, stageFiles } from "../worktree/restore.ts";
import { countAdded } from "../worktree/sweep.ts";
import { stateAt } from "../worktree/state.ts";

/** The files of some turns, and the turns of which the changes are not known. */
export type FilePlan = { plan: RestorePlan; unknown: { turn: number; reason: string }[] };
type Range = { session: Session; items: readonly LoggedItem[]; from: number };
type Keeping = { snapshots: string; force: boolean };

/** Undoes all that happened from an item on, in turns that were dropped already too. */
export async function planFiles({ session, items, from }: Range, { snapshots, force }: Keeping): Promise<FilePlan> {
  const manifests: Manifest[] = [];
  const unknown: FilePlan["unknown"] = [];
  for (const [index, { kind, seq, turn }] of items.entries()) {
    if (seq < from || (kind !== "turn_start" && kind !== "rollback")) continue;
    const by = kind === "rollback" ? "rollback" : "turn";
    const read = readManifest(manifestPath({ snapshots, session: session.id, by, seq }));
    if (Array.isArray(read)) manifests.push(...read);
    const reason = read === "damaged" ? damaged : read === undefined ? whyUnknown(items, index) : undefined;
    if (reason !== undefined) unknown.push({ turn, reason });
  }
  for (const { root } of manifests) assertThere(root);
  return { plan: await planRestoration(manifests, { contents: new Contents(snapshots), force }), unknown };
}

const damaged = "its snapshot is damaged";

/** Why there is no snapshot of a turn that may have changed files; the item at this index is its start. */
function whyUnknown(items: readonly LoggedItem[], index: number): string | undefined {
  if (items[index]?.kind === "rollback") return undefined;
  const next = items.findIndex(({ kind }, at) => at > index && kind === "turn_start");
  const own = items.slice(index, next === -1 ? undefined : next);
  const hasCalls = own.some((item) => item.kind === "assistant" && item.parts.some(({ type }) => type === "call"));
  const end = own.find((item) => item.kind === "turn_end");
  if (end?.files === 0 || !hasCalls) return undefined;
  if (end === undefined) return "it was cut off before its changes were recorded";
  if (end.files === undefined) return "its changes are not known";
  return "its snapshot is gone, or could not be kept";
}

function assertThere(root: string): void {
  if (unlessRefused(() => realpathSync(root)) === root) return;
  const message = `Cannot restore files in "${root}", the directory of this session: it is gone, or a symbolic link now. Nothing was changed. Leave out --files to roll back the conversation alone.`;
  throw new KodaError("usage", message);
}

type Restoring = { snapshots: string; session: Session };

/** Files that are overwritten are kept as well; then every content is written before the first file is touched. */
export async function restoreFiles(plan: RestorePlan, { snapshots, session }: Restoring): Promise<void> {
  try {
    removeStaged(plan, session.id);
    // The item that drops the turns is the next one.
    keepPresent(plan, { snapshots, session: session.id, by: "rollback", seq: session.info.length + 1 });
    using staged = await stageFiles(plan, { contents: new Contents(snapshots), staging: session.id });
    await applyStaged(staged);
  } catch (error) {
    if (!(error instanceof Unrestorable) && errnoOf(error) === undefined) throw error;
    throw new KodaError("store", `Cannot restore the files: ${reasonOf(error)}. Nothing was changed.`, {
      cause: error,
    });
  }
}

async function applyStaged(staged: Awaited<ReturnType<typeof stageFiles>>): Promise<void> {
  try {
    await staged.apply();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    const message = `Could not restore all files: ${reasonOf(error)}. Some of them are restored, and the conversation is as it was. Run the same command again when that is fixed.`;
    throw new KodaError("store", message, { cause: error });
  }
}

/** A later rollback knows by it how this one left the files. */
function keepPresent({ restored, same }: RestorePlan, key: SnapshotKey): void {
  const recorder = new SnapshotRecorder(key);
  const manifests = [...Map.groupBy([...restored, ...same], ({ root }) => root)].map(([root, files]) => ({
    root,
    made: [],
    removed: [],
    changes: files.map(({ path, before }) => ({
      path: relative(root, path),
      before: stateAt(path, recorder.keep),
      after: before,
    })),
  }));
  recorder.write(manifests);
  countAdded(key.snapshots, recorder.added);
}
