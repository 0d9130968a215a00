import { lstatSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { unlessRefused } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import type { Past } from "./past.ts";
import { trackedFiles } from "./gitindex.ts";
import type { FrozenRepository } from "./repository.ts";

/** Directories that came and went since a snapshot, relative to the project; those above others come first. */
export type DirectoryChanges = { made: readonly string[]; removed: readonly string[] };

/** `added` are the files that are new, relative to the project. Of directories without a new file nothing is known. */
export async function directoryChanges(
  past: Past,
  added: readonly string[],
  signal: AbortSignal,
): Promise<DirectoryChanges> {
  const { policy, project } = past;
  const { root } = policy;
  const removed = [...(project?.directories ?? [])].filter((directory) => !isDirectory(directory));
  const files = added.map((path) => join(root, path));
  const made = directoriesOver(files, root).size === 0 ? [] : (await directoriesSince(past, signal))(files);
  const shown = (paths: Iterable<string>) => [...paths].map((path) => relative(root, path)).sort();
  return { made: shown(made), removed: shown(removed) };
}

/** Finds the directories of files that were not there before. */
export async function directoriesSince(
  { policy: { root }, project, files }: Past,
  signal: AbortSignal,
): Promise<(files: readonly string[]) => string[]> {
  const { directories = new Set<string>(), repositories = new Map<string, FrozenRepository>() } = project ?? {};
  const places = [...directories, ...repositories.keys()].map((path) => join(path, "x"));
  const wasMissing = (path: string) => files.get(path)?.kind === "missing";
  const before = directoriesOver([...[...files.keys()].filter((path) => !wasMissing(path)), ...places], root);
  for (const repository of repositories.values()) {
    const tracked = (await trackedFiles(repository, signal)).map((path) => join(repository.base, path));
    const there = tracked.filter((path) => !wasMissing(path));
    for (const path of directoriesOver(there, root)) before.add(path);
  }
  return (now) => [...directoriesOver(now, root)].filter((path) => !before.has(path));
}

export function isDirectory(path: string): boolean {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() ?? false;
}

/** The directories between a root and files in it. */
function directoriesOver(files: readonly string[], root: string): Set<string> {
  const directories = new Set<string>();
  for (const file of files)
    for (let path = dirname(file); path !== root && isBelow(path, root) && !directories.has(path); path = dirname(path))
      directories.add(path);
  return directories;
}
