import { rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import type { Entry } from "../files/entry.ts";
import { HeldDirectory } from "../files/held.ts";
import { restoreEntries, type Restoration } from "../files/restore.ts";
import type { Target } from "../files/save.ts";
import { whyHidden, whyUnwritable } from "../trust/path.ts";
import type { Past } from "./past.ts";

type Rows = Iterable<readonly [path: string, before: Entry]>;

/** Makes files of a project what they were, where file tools may write; what was added is deleted. */
export async function restoreFiles(rows: Rows, { policy, takenAtMs }: Past): Promise<readonly Restoration[]> {
  const refuse = (path: string) => {
    const real = join(policy.root, path);
    return whyHidden(real, policy) ?? whyUnwritable(real, policy);
  };
  using base = HeldDirectory.open(policy.root);
  const restorations = await restoreEntries(base, rows, { clear, refuse });
  for (const { path } of restorations) removeMade(base, { directory: dirname(path), sinceMs: takenAtMs });
  return restorations;
}

function clear({ directory, name }: Target): void {
  if (directory.look(name)?.isDirectory() === true) removeEmpty(directory, name);
  else unlinkSync(directory.at(name));
}

/** Throws when there is a file in it, or in a directory in it: nobody asked for that one to be deleted. */
function removeEmpty(parent: HeldDirectory, name: string): void {
  using directory = parent.child(name);
  for (const entry of directory.entries()) if (entry.isDirectory()) removeEmpty(directory, entry.name);
  rmdirSync(parent.at(name));
}

/** Directories that were made for a file go with the last one in them. */
function removeMade(base: HeldDirectory, made: { directory: string; sinceMs: number }): void {
  const { directory, sinceMs } = made;
  if (directory === ".") return;
  const isGone = unlessRefused(() => {
    using parent = base.descend(dirname(directory));
    const stats = parent.look(basename(directory));
    if (stats !== undefined && Number(stats.birthtimeMs) < sinceMs) return false;
    if (stats !== undefined) rmdirSync(parent.at(basename(directory)));
    return true;
  });
  if (isGone === true) removeMade(base, { directory: dirname(directory), sinceMs });
}
