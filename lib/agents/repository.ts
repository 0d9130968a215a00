import { lstatSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";

/** The user who is served; undefined where the system knows no such ids. */
export type Owner = number | undefined;

/** One that is not trusted is not ours to believe: git would not believe it either. */
export type EnclosingRepository = { root: string; trusted: boolean };

/** Deeper than any project; a bound, so that no file system can make this long. */
const deepest = 100;

/**
 * The nearest directory, from `cwd` upwards, that holds a `.git`. One that some other user has put above ours, into
 * /tmp for example, would let them instruct the model: its `.git` has to belong to us, to root or to whom `cwd` belongs.
 */
export function findRepository(cwd: string, user: Owner): EnclosingRepository | undefined {
  const trusted = new Set([user, 0, statOf(cwd)?.uid]);
  let directory = cwd;
  for (let depth = 0; depth < deepest; depth++) {
    const git = statOf(join(directory, ".git"));
    if (git !== undefined) return { root: directory, trusted: trusted.has(git.uid) };
    const parent = dirname(directory);
    if (parent === directory) return undefined;
    directory = parent;
  }
  return undefined;
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // What may not be looked at is nothing to go by.
    return undefined;
  }
}
