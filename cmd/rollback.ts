import { homedir } from "node:os";
import { databaseFile, snapshotDirectory } from "../lib/config/paths.ts";
import { rollbackSession, type RollbackReport } from "../lib/conversation/rollback.ts";
import { assertUsers } from "../lib/session/agents.ts";
import { counted } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import { visibleLine } from "../lib/visible.ts";
import { shareSnapshots } from "../lib/worktree/share.ts";
import type { CommandOptions } from "./options.ts";
import { asJson } from "./print.ts";
import { withStore } from "./session.ts";

export function rollback({ turns, json, ...options }: CommandOptions<"session rollback">): Promise<number> {
  if (turns < 1) throw new KodaError("usage", "num_turns must be >= 1");
  return withStore(async function* (store) {
    // The files that it changed are in the snapshots of its parent's turn.
    assertUsers(store.find(options.id), (parent) => `roll back "${parent}", which takes it back too`);
    const report = await rollbackSession(store, databasePath(), { turns, ...options });
    yield json ? asJson(jsonOf(report, options.dryRun)) : textOf(report, { asked: turns, dryRun: options.dryRun });
  });
}

export function forkSession({ id, json }: CommandOptions<"session fork">): Promise<number> {
  return withStore(async function* (store) {
    const { id: fork, parent = "" } = store.copy(id);
    shareSnapshots(snapshotDirectory(databasePath()), { from: parent, to: fork });
    yield json ? asJson({ id: fork, parent }) : `${fork}\n`;
  });
}

function databasePath(): string {
  return databaseFile({ env: process.env, home: homedir() });
}

function jsonOf({ session, dropped, files }: RollbackReport, dryRun: boolean): unknown {
  return { session, turns: dropped, dry_run: dryRun, files: files ?? null };
}

function textOf({ session, dropped, files }: RollbackReport, { asked, dryRun }: { asked: number; dryRun: boolean }) {
  const verb = dryRun ? "Would drop" : "Dropped";
  const fewer = dropped < asked ? `, all that there are (${asked} were asked for)` : "";
  const lines = [`${verb} ${counted(dropped, "turn")} of ${session}${fewer}`];
  const { restored = [], kept = [], unrestorable = [] } = files ?? {};
  for (const { path, action, edited } of restored)
    lines.push(`  ${action} ${path}${edited ? " (with your changes between these turns)" : ""}`);
  for (const { path, reason } of kept) lines.push(`  keep ${path}: ${reason}`);
  for (const each of unrestorable)
    lines.push(`  cannot restore ${"path" in each ? each.path : `turn ${each.turn}`}: ${each.reason}`);
  if (files !== undefined && restored.length + kept.length + unrestorable.length === 0) lines.push("No file differs");
  return lines.map((line) => `${visibleLine(line)}\n`).join("");
}
