import { existsSync, lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { runGit } from "../git/program.ts";
import { isDirectory } from "./directories.ts";
import { indexEntries, printedNames, unwatchedNames } from "./gitindex.ts";
import { type FrozenRepository, insideTree } from "./repository.ts";

export type Differing = {
  /** Everything that may not be as the frozen index has it: changed, deleted, or not in it. Relative to `base`. */
  files: readonly string[];
  /** Directories that are repositories of their own. */
  nested: readonly string[];
  directories: readonly string[];
};

/** With `all` the directories without a file of the index are listed too: empty ones, and those of untracked files. */
export async function differing(
  repository: FrozenRepository,
  signal: AbortSignal,
  { all = false } = {},
): Promise<Differing> {
  const print = (...kinds: string[]) => runGit(insideTree(repository, signal), ["ls-files", "-z", ...kinds]);
  const list = async (...kinds: string[]) => printedNames(await print(...kinds));
  const tracked = async () => {
    // On all processors, but with those that were only touched. Comparing the contents of many is left to git.
    const touched = printedNames(await runGit(insideTree(repository, signal), touchedNames));
    return touched.length <= mostTouched ? touched : await list("-m", "-d");
  };
  const untracked = async () => {
    const shown = all ? await list("-o", "--exclude-standard", "--directory") : [];
    const directories = directoriesIn(shown);
    // The files in them are not shown. Without any, which is common, all files are.
    const files = all && directories.length === 0 ? shown : await list("-o", "--exclude-standard");
    repository.unwatched ??= unwatchedNames(await print("-v"));
    return { files, directories, unwatched: presentIn(repository.base, repository.unwatched) };
  };
  // Each looks at the whole tree, on a processor of its own.
  const [changed, { files, directories, unwatched }] = await bothEnded(tracked(), untracked());
  // Nor is a directory shown that has taken the place of a file of the index.
  const isHidden = (path: string) => isDirectory(join(repository.base, path));
  const isPart = all && directories.length === 0 && changed.some(isHidden);
  const others = isPart ? await list("-o", "--exclude-standard") : files;
  const paths = [...new Set([...changed, ...others, ...unwatched])];
  return {
    files: paths.filter((path) => !path.endsWith("/")),
    nested: [...directoriesIn(paths), ...(await submodules(repository, signal))],
    directories,
  };
}

/** git does not start another in submodules: their own configuration would be obeyed. */
const touchedNames = ["diff-files", "-z", "--name-only", "--relative", "--ignore-submodules=dirty"];
const mostTouched = 1000;

function directoriesIn(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (path.endsWith("/") ? path.slice(0, -1) : []));
}

/** Those that are there now: of a sparse checkout most are not, with their directories. */
function presentIn(base: string, paths: readonly string[]): string[] {
  const directories = new Map<string, boolean>();
  const isThere = (path: string) => unlessRefused(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
  return paths.filter((path) => {
    const directory = join(base, dirname(path));
    const isIn = directories.get(directory) ?? isDirectory(directory);
    directories.set(directory, isIn);
    return isIn && isThere(join(base, path));
  });
}

/** Nothing of the other runs any more when one has failed. */
async function bothEnded<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return await Promise.all([one, other]);
}

async function submodules(repository: FrozenRepository, signal: AbortSignal): Promise<readonly string[]> {
  if (!existsSync(join(repository.top, ".gitmodules"))) return [];
  const entries = [...(await indexEntries(repository, signal))].filter(([, { mode }]) => mode === "160000");
  return entries.map(([path]) => path).filter((path) => existsSync(join(repository.base, path, ".git")));
}
