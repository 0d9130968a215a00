import { linkSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { unfinished } from "./contents.ts";
import { sessionPath } from "./record.ts";

/** A fork's turns are those of its parent, and so are their snapshots: what one removes the other keeps. */
export function shareSnapshots(snapshots: string, { from, to }: { from: string; to: string }): void {
  const [source, target] = [sessionPath({ snapshots, session: from }), sessionPath({ snapshots, session: to })];
  const names = (unlessRefused(() => readdirSync(source)) ?? []).filter((name) => !name.startsWith(unfinished));
  if (names.length === 0) return;
  mkdirSync(target, { recursive: true, mode: 0o700 });
  for (const name of names) unlessRefused(() => linkSync(join(source, name), join(target, name)));
}
