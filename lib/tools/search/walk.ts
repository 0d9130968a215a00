import { type Dirent, lstatSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import type { HeldDirectory } from "../../files/held.ts";
import { folded } from "../../files/path.ts";
import { kindOf, type FileKind } from "../../files/walk.ts";
import { isIgnored, type IgnoreRules, rulesAbove, rulesFrom, rulesIn } from "./rules.ts";
import { holdBase, type SearchScope } from "./scope.ts";

/** `path` is relative to the base of the search. */
export type WalkEntry = { path: string; kind: FileKind };

type WalkOptions = {
  /** How many levels are listed; all of them when absent. */
  depth?: number;
  /** Called for every directory that cannot be listed. */
  unreadable(): void;
  signal: AbortSignal;
};

/** A directory still to be listed, with the rules that reach it from above. */
type Pending = { path: string; above: IgnoreRules | undefined };

/** Work for so long, and then let everything else have its turn. */
const turnMs = 10;

/**
 * Visits the entries of a scope that are neither ignored nor hidden, until a visit returns false: level by level, in
 * each directory by name. Symlinks are named, never followed, and `.git` is left out.
 */
export async function walkScope(
  scope: SearchScope,
  { depth = Infinity, unreadable, signal }: WalkOptions,
  visit: (entry: WalkEntry) => boolean | void,
): Promise<void> {
  using base = holdBase(scope);
  if (base === undefined) return unreadable();
  const isClosed = closedBy(scope);
  let level: Pending[] = [{ path: "", above: rulesAbove(scope.base, scope.top) }];
  let pauseAt = performance.now() + turnMs;
  for (let below = 1; below <= depth && level.length > 0; below++) {
    const next: Pending[] = [];
    for (const { path, above } of level) {
      const directory = join(scope.base, path);
      const dirents = list(base, path);
      if (dirents === undefined) {
        unreadable();
        continue;
      }
      const rules = rulesAt(directory, dirents, above);
      for (const dirent of dirents) {
        if (performance.now() > pauseAt) {
          await yieldToEventLoop(signal);
          pauseAt = performance.now() + turnMs;
        }
        const absolute = join(directory, dirent.name);
        const kind = kindAt(absolute, dirent);
        if (dirent.name === ".git" || isClosed(absolute) || isIgnored(rules, absolute, kind === "directory")) continue;
        const entry: WalkEntry = { path: path === "" ? dirent.name : `${path}/${dirent.name}`, kind };
        if (kind === "directory") next.push({ path: entry.path, above: rules });
        if (visit(entry) === false) return;
      }
    }
    level = next;
  }
}

function closedBy({ closed }: SearchScope): (path: string) => boolean {
  if (closed.length === 0) return () => false;
  const paths = new Set(closed.map(folded));
  return (path) => paths.has(folded(path));
}

function rulesAt(directory: string, dirents: readonly Dirent[], above: IgnoreRules | undefined): IgnoreRules {
  const names = dirents.map(({ name }) => name);
  return above === undefined ? rulesFrom(directory, names) : rulesIn(directory, names, above);
}

/** By way of directories that are held, none of which is a symlink by now. */
function list(base: HeldDirectory, path: string): Dirent[] | undefined {
  try {
    if (path === "") return base.entries();
    using directory = base.descend(path);
    return directory.entries();
  } catch {
    // Not permitted, or gone since its parent was listed: the caller counts it.
    return undefined;
  }
}

/** Some file systems leave the type to a call of its own. */
function kindAt(path: string, dirent: Dirent): FileKind {
  const kind = kindOf(dirent);
  const stats = kind === "device" ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  return stats === undefined ? kind : kindOf(stats);
}
