import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * Where the repository really is when `.git` is a file that says so: the directory of a linked work tree or a submodule,
 * and what it shares with others. Whoever may write there decides what git runs, whatever those directories are called.
 */
export function gitPlaces(root: string): readonly string[] {
  const named = /^gitdir: (.+)$/m.exec(readText(join(root, ".git")))?.[1]?.trim();
  if (named === undefined) return [];
  const directory = resolve(root, named);
  const shared = readText(join(directory, "commondir")).trim();
  return shared === "" ? [directory] : [directory, resolve(directory, shared)];
}

/** What is missing, unreadable or no file (a FIFO would never end) says nothing. */
function readText(path: string): string {
  try {
    return statSync(path).isFile() ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}
