import { byPath } from "./found.ts";
import { globMatcher } from "./glob.ts";
import type { SearchScope } from "./scope.ts";
import { type WalkEntry, walkScope } from "./walk.ts";

export type Files = { paths: readonly string[]; total: number; looked: number; unreadable: number };

/** The files, and symlinks, whose path from the base matches; the first of them by path. */
export function findFiles(scope: SearchScope, { pattern, wanted }: { pattern: string; wanted: number }): Files {
  const matches = globMatcher(pattern);
  const found: WalkEntry[] = [];
  let looked = 0;
  let unreadable = 0;
  for (const entry of walkScope(scope, { unreadable: () => unreadable++ })) {
    if (entry.kind !== "file" && entry.kind !== "symlink") continue;
    looked++;
    if (matches(entry.path)) found.push(entry);
  }
  const paths = found
    .sort(byPath)
    .slice(0, wanted)
    .map(({ path }) => path);
  return { paths, total: found.length, looked, unreadable };
}

/** One directory of a tree; `left` counts the entries that had no room. */
export type TreeBranch = { path: string; entries: readonly WalkEntry[]; left: number };
export type Tree = { branches: readonly TreeBranch[]; total: number; unreadable: number };

/**
 * The entries down to a depth, as many as are wanted: what is higher up comes first, so that one full directory deep
 * down does not hide the others.
 */
export function listTree(scope: SearchScope, { depth, wanted }: { depth: number; wanted: number }): Tree {
  const branches = new Map<string, { path: string; entries: WalkEntry[]; left: number }>();
  let total = 0;
  let unreadable = 0;
  for (const entry of walkScope(scope, { depth, unreadable: () => unreadable++ })) {
    const path = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf("/")));
    const branch = branches.get(path) ?? { path, entries: [], left: 0 };
    branches.set(path, branch);
    if (total++ < wanted) branch.entries.push(entry);
    else branch.left++;
  }
  return { branches: [...branches.values()], total, unreadable };
}
