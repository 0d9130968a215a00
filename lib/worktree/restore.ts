import { rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import type { Entry } from "../files/entry.ts";
import { HeldDirectory } from "../files/held.ts";
import { restoreEntries, type Restoration } from "../files/restore.ts";
import type { HeldEntry } from "../files/save.ts";
import { whyHidden, whyUnwritable } from "../trust/path.ts";
import type { Past } from "./past.ts";

/** Makes files of a project what they were, where file tools may write. What was added is deleted. */
export async function restoreFiles(entries: ReadonlyMap<string, Entry>, past: Past): Promise<readonly Restoration[]> {
  const { policy, takenAtMs } = past;
  const refused: Restoration[] = [];
  const added = new Map<string, Entry>();
  const others = new Map<string, Entry>();
  for (const [path, before] of entries) {
    const real = join(policy.root, path);
    const reason = whyHidden(real, policy) ?? whyUnwritable(real, policy);
    if (reason !== undefined) refused.push({ path, problem: { kind: "refused", reason } });
    else (before.kind === "missing" ? added : others).set(path, before);
  }
  using base = HeldDirectory.open(policy.root);
  const deleted = await restoreEntries(base, added, { clear });
  // A file comes back only when the directory that was made in its place is gone.
  for (const { path } of deleted) removeMade(base, { path, sinceMs: takenAtMs });
  return [...refused, ...deleted, ...(await restoreEntries(base, others, { clear }))];
}

/** A directory with something in it stays: that was not asked to be deleted. */
function clear({ directory, name }: HeldEntry): void {
  if (directory.look(name)?.isDirectory() === true) rmdirSync(directory.at(name));
  else unlinkSync(directory.at(name));
}

/** Removes the directory of a path when it is empty and younger than the snapshot, and so on upwards. */
function removeMade(base: HeldDirectory, { path, sinceMs }: { path: string; sinceMs: number }): void {
  const directory = dirname(path);
  if (directory === ".") return;
  const isGone = unlessRefused(() => {
    using parent = base.descend(dirname(directory));
    const name = basename(directory);
    const stats = parent.look(name);
    if (stats !== undefined && stats.birthtimeMs < sinceMs) return false;
    if (stats !== undefined) rmdirSync(parent.at(name));
    return true;
  });
  if (isGone === true) removeMade(base, { path: directory, sinceMs });
}
