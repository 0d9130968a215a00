import { byPath } from "./found.ts";
import type { SearchScope } from "./scope.ts";
import { type WalkEntry, walkScope } from "./walk.ts";

type Files = { paths: readonly string[]; total: number; looked: number; unreadable: number };

/** The files, and symlinks, whose path from the base matches; the first of them by path. */
export async function findFiles(
  scope: SearchScope,
  { matches, wanted, signal }: { matches: (path: string) => boolean; wanted: number; signal: AbortSignal },
): Promise<Files> {
  const found: WalkEntry[] = [];
  let looked = 0;
  let unreadable = 0;
  await walkScope(scope, { unreadable: () => unreadable++, signal }, (entry) => {
    if (entry.kind !== "file" && entry.kind !== "symlink") return;
    looked++;
    if (matches(entry.path)) found.push(entry);
  });
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
export async function listTree(
  scope: SearchScope,
  { depth, wanted, signal }: { depth: number; wanted: number; signal: AbortSignal },
): Promise<Tree> {
  const branches = new Map<string, { path: string; entries: WalkEntry[]; left: number }>();
  let total = 0;
  let unreadable = 0;
  await walkScope(scope, { depth, unreadable: () => unreadable++, signal }, (entry) => {
    const path = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf("/")));
    const branch = branches.get(path) ?? { path, entries: [], left: 0 };
    branches.set(path, branch);
    if (total++ < wanted) branch.entries.push(entry);
    else branch.left++;
  });
  return { branches: [...branches.values()], total, unreadable };
}
