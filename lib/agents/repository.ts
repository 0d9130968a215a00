import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { ancestors } from "../files/path.ts";

/** The user who is served; undefined where the system knows no such ids. */
export type Owner = number | undefined;

/** One that is not trusted is not ours to believe: git would not believe it either. */
export type EnclosingRepository = { root: string; trusted: boolean };

/**
 * The nearest directory, from `cwd` upwards, that holds a `.git`. One that some other user has put above ours, into
 * /tmp for example, would let them instruct the model: its `.git` has to belong to us, to root or to whom `cwd` belongs.
 */
export function findRepository(cwd: string, user: Owner): EnclosingRepository | undefined {
  const trusted = new Set([user, 0, statOf(cwd)?.uid]);
  for (const root of ancestors(cwd)) {
    const git = statOf(join(root, ".git"));
    if (git !== undefined) return { root, trusted: trusted.has(git.uid) };
  }
  return undefined;
}

/** What may not be looked at is nothing to go by. */
function statOf(path: string): Stats | undefined {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
}
