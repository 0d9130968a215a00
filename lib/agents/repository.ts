import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { ancestors } from "../files/path.ts";

/** The user whom koda runs for; undefined on a system without user ids. */
export type Owner = number | undefined;

/** The instructions of a repository that is not trusted are ignored, as git ignores its configuration. */
type EnclosingRepository = { root: string; trusted: boolean };

/**
 * The nearest directory, from `cwd` upwards, that has a `.git`. Another user could put one above ours, in /tmp for
 * example, to instruct the model: the `.git` has to belong to this user, to root, or to the owner of `cwd`.
 */
export function findRepository(cwd: string, user: Owner): EnclosingRepository | undefined {
  const trusted = new Set([user, 0, statOf(cwd)?.uid]);
  for (const root of ancestors(cwd)) {
    const git = statOf(join(root, ".git"));
    if (git !== undefined) return { root, trusted: trusted.has(git.uid) };
  }
  return undefined;
}

/** A path that may not be looked at counts as missing. */
function statOf(path: string): Stats | undefined {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
}
