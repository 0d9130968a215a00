import { join, resolve } from "node:path";
import { readSmallText } from "../files/read.ts";

/**
 * Where the repository really is when `.git` is a file that says so: the directory of a linked work tree or a submodule,
 * and what it shares with others. Whoever may write there decides what git runs, whatever those directories are called.
 */
export function gitPlaces(root: string): readonly string[] {
  const named = /^gitdir: (.+)$/m.exec(readSmallText(join(root, ".git")))?.[1]?.trim();
  if (named === undefined) return [];
  const directory = resolve(root, named);
  const shared = readSmallText(join(directory, "commondir")).trim();
  return shared === "" ? [directory] : [directory, resolve(directory, shared)];
}
