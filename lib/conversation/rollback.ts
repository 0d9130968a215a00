import { realpathSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { snapshotDirectory } from "../config/paths.ts";
import { errnoOf, KodaError, reasonOf, unlessRefused } from "../errors.ts";
import { Unrestorable } from "../files/restore.ts";
import type { LoggedItem } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import { Contents } from "../worktree/contents.ts";
import { readManifest } from "../worktree/manifest.ts";
import { planRestoration, type RestorePlan } from "../worktree/plan.ts";
import { type Manifest, manifestPath, SnapshotRecorder, type SnapshotKey } from "../worktree/record.ts";
import { removeStaged, stageFiles } from "../worktree/restore.ts";
import { stateAt } from "../worktree/state.ts";

type RollbackRequest = {
  /** An id, or a unique prefix of it. */
  id: string;
  turns: number;
  /** Restore the files that the turns changed as well. */
  files: boolean;
  dryRun: boolean;
  /** Restore files that the user has changed since, and what can be when not all can. */
  force: boolean;
};

/** Paths are relative to the session's directory where they lie in it. */
export type RollbackReport = {
  session: string;
  dropped: number;
  /** Absent when only the conversation was to be rolled back. */
  files?: {
    restored: {
      path: string;
      action: "create" | "update" | "delete";
      /** The user changed it between these turns, and that is undone too. */
      edited?: true;
    }[];
    kept: { path: string; reason: string }[];
    /** Files, and turns whose changes are not known. */
    unrestorable: ({ path: string; reason: string } | { turn: number; reason: string })[];
  };
};

/**
 * Takes back the last turns of a session. Everything is checked first, then the files are restored, and the item that
 * drops the turns comes last: after a crash in between the same command goes on where it was.
 */
export async function rollbackSession(
  store: Store,
  database: string,
  { id, turns, files, dryRun, force }: RollbackRequest,
): Promise<RollbackReport> {
  await using session = await openIdle(store, id);
  const items = await store.items(session.id);
  const dropped = liveTurns(items).slice(-turns);
  const report: RollbackReport = { session: session.id, dropped: dropped.length };
  const [first] = dropped;
  if (first === undefined) return report;

  if (files) {
    const snapshots = snapshotDirectory(database);
    const restoration = await planFiles({ session, items, from: first.seq }, { snapshots, force });
    report.files = describe(restoration, session.info.cwd);
    if (dryRun) return report;
    if (!force) assertRestorable(report.files);
    await restoreFiles(restoration.plan, { snapshots, session });
  }
  if (!dryRun) await session.rollback(dropped.length);
  return report;
}

/** Opens a session for writing while no turn runs in it. */
async function openIdle(store: Store, id: string): Promise<Session> {
  try {
    return await store.open(id);
  } catch (error) {
    if (!(error instanceof KodaError) || error.code !== "session_held") throw error;
    throw new KodaError("session_held", "Cannot rollback while a turn is in progress.", { cause: error });
  }
}

/** The starts of the turns that still count, oldest first. */
function liveTurns(items: readonly LoggedItem[]): readonly LoggedItem[] {
  const turns: LoggedItem[] = [];
  for (const item of items) {
    if (item.kind === "turn_start") turns.push(item);
    else if (item.kind === "rollback") turns.splice(Math.max(0, turns.length - item.turns));
  }
  return turns;
}

type Restoration = { plan: RestorePlan; unknown: { turn: number; reason: string }[] };
type Range = { session: Session; items: readonly LoggedItem[]; from: number };
type Keeping = { snapshots: string; force: boolean };

/** Undoes all that happened from an item on, in turns that were dropped already too. */
async function planFiles({ session, items, from }: Range, { snapshots, force }: Keeping): Promise<Restoration> {
  const manifests: Manifest[] = [];
  const unknown: Restoration["unknown"] = [];
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
  return "its snapshot is gone: it was deleted, or was too old to be kept";
}

function assertThere(root: string): void {
  if (unlessRefused(() => realpathSync(root)) === root) return;
  const message = `Cannot restore files in "${root}", the directory of this session: it is gone, or a symbolic link now. Nothing was changed. Leave out --files to roll back the conversation alone.`;
  throw new KodaError("usage", message);
}

function describe({ plan, unknown }: Restoration, cwd: string): NonNullable<RollbackReport["files"]> {
  const shown = (path: string) => {
    const inside = relative(cwd, path);
    return inside.startsWith("../") || isAbsolute(inside) ? path : inside;
  };
  return {
    restored: plan.restored.map(({ path, now, before, wasEdited }) => ({
      path: shown(path),
      action: before.kind === "missing" ? "delete" : now.kind === "missing" ? "create" : "update",
      ...(wasEdited && { edited: true }),
    })),
    kept: plan.kept.map(({ path, reason }) => ({ path: shown(path), reason })),
    unrestorable: [...unknown, ...plan.lost.map(({ path, reason }) => ({ path: shown(path), reason }))],
  };
}

function assertRestorable({ unrestorable }: NonNullable<RollbackReport["files"]>): void {
  if (unrestorable.length === 0) return;
  const lines = unrestorable.map((each) => `${"path" in each ? each.path : `turn ${each.turn}`}: ${each.reason}`);
  const advice = "Pass --force to restore the others, or leave out --files to roll back the conversation alone.";
  throw new KodaError("store", ["Cannot restore all files, so nothing was changed:", ...lines, advice].join("\n"));
}

type Restoring = { snapshots: string; session: Session };

async function restoreFiles(plan: RestorePlan, { snapshots, session }: Restoring): Promise<void> {
  try {
    removeStaged(plan, session.id);
    if (plan.restored.length === 0) return;
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

/** Files that are overwritten are kept as well: a later rollback knows the files by it. */
function keepPresent({ restored }: RestorePlan, key: SnapshotKey): void {
  const recorder = new SnapshotRecorder(key);
  const manifests = [...Map.groupBy(restored, ({ root }) => root)].map(([root, files]) => ({
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
}
