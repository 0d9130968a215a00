import { isAbsolute, relative } from "node:path";
import { snapshotDirectory } from "../config/paths.ts";
import { KodaError } from "../errors.ts";
import type { LoggedItem } from "../session/item.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../session/store.ts";
import type { Conversation } from "./conversation.ts";
import { planFiles, restoreFiles, type FilePlan } from "./restoration.ts";

type RollbackRequest = {
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

/** The same for a session by its id, or by a unique prefix of that. */
export async function rollbackSession(
  store: Store,
  database: string,
  { id, ...request }: RollbackRequest & { id: string },
): Promise<RollbackReport> {
  await using session = await openIdle(store, id);
  return await rollbackOpen({ session, items: store.items(session.id) }, database, request);
}

/** The same between the turns of an open conversation. */
export async function rollbackIn(
  { parts: { session, settings, host } }: Conversation,
  request: Pick<RollbackRequest, "turns" | "files">,
): Promise<RollbackReport> {
  const { database } = settings;
  const items = host.store(database).items(session.id);
  return await rollbackOpen({ session, items }, database, { ...request, dryRun: false, force: false });
}

type OpenSession = { session: Session; items: readonly LoggedItem[] };

/**
 * Takes back the last turns of a session. Everything is checked first, then the files are restored, and the item that
 * drops the turns comes last: after a crash in between the same command goes on where it was.
 */
async function rollbackOpen(
  { session, items }: OpenSession,
  database: string,
  { turns, files, dryRun, force }: RollbackRequest,
): Promise<RollbackReport> {
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
  if (!dryRun) dropTurns(session, { turns: dropped.length, files });
  return report;
}

function dropTurns(session: Session, { turns, files }: { turns: number; files: boolean }): void {
  try {
    session.rollback(turns);
  } catch (error) {
    if (!files || !(error instanceof KodaError)) throw error;
    const done = "The files are restored already, the conversation is as it was: run the same command again then.";
    throw new KodaError(error.code, `${error.message} ${done}`, { cause: error });
  }
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

function describe({ plan, unknown }: FilePlan, cwd: string): NonNullable<RollbackReport["files"]> {
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
