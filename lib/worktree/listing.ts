import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import type { Copies } from "../files/copies.ts";
import { isBelow } from "../files/path.ts";
import type { Git } from "../git/program.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { isHidden } from "../sandbox/policy/reach.ts";
import { scopeOf } from "../tools/search/scope.ts";
import { walkScope } from "../tools/search/walk.ts";
import { differing, type Differing } from "./differing.ts";
import { trackedFiles } from "./gitindex.ts";
import { freezeRepository, type FrozenRepository } from "./repository.ts";

/** A project whose files are listed, and what that takes. */
export type Project = {
  policy: Policy;
  findGit: () => Git | undefined;
  /** A directory of koda's own, where no command can write. */
  scratch: string;
  /** How many more bytes of indexes may be copied. */
  room: { bytes: number };
  copies: Copies;
  /** The repositories in the project, by the directory that is listed, as they were when first seen. */
  repositories: Map<string, FrozenRepository>;
  /** Directories that were there when it was first seen, beside those that the files lie in. */
  directories: Set<string>;
  /** Limits that the user should know about. */
  notes: string[];
};

/** A project with more files than this is not watched. */
export const mostFiles = 200_000;

/**
 * The files of which something must be remembered, by absolute path: in a repository those that are not as its index
 * has them, and elsewhere all that are not ignored.
 */
export function listFiles(project: Project, signal: AbortSignal): Promise<ReadonlySet<string>> {
  return list([project.policy.root], project, { listRepository: listFrozen, signal });
}

/**
 * The files that may differ from what the first listing saw. A repository that was not there then is walked: nothing
 * in it counts as unchanged.
 */
export function listFilesAgain(project: Project, signal: AbortSignal): Promise<ReadonlySet<string>> {
  // Those that are gone with their directory are found in no other way.
  const starts = [project.policy.root, ...project.repositories.keys()];
  return list(starts, project, { listRepository: listKnown, signal });
}

/** Lists a directory as a repository; undefined when it is to be walked. */
type ListRepository = (project: Project, base: string, signal: AbortSignal) => Promise<Differing | undefined>;

async function list(
  starts: readonly string[],
  project: Project,
  { listRepository, signal }: { listRepository: ListRepository; signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const { tmp, hide } = project.policy;
  const closed = [tmp, project.scratch];
  const isIn = (path: string, directories: readonly string[]) => directories.some((each) => isBelow(path, each));
  // The project may lie in a hidden directory.
  const isOpen = (path: string) => !isIn(path, closed) && !(isIn(path, hide) && isHidden(path, project.policy));
  const files = new Set<string>();
  // A set hands out what is added to it on the way, and each once.
  const bases = new Set(starts);
  for (const base of bases) {
    if (files.size > mostFiles) break;
    const found = (await listRepository(project, base, signal)) ?? (await walked(base, project, signal));
    for (const path of absolute(base, found.files).filter(isOpen)) files.add(path);
    if (listRepository === listFrozen)
      for (const path of absolute(base, found.directories).filter(isOpen)) project.directories.add(path);
    for (const path of found.nested) bases.add(join(base, path));
  }
  return files;
}

function absolute(base: string, paths: readonly string[]): string[] {
  return paths.map((path) => join(base, path));
}

async function listFrozen(project: Project, base: string, signal: AbortSignal): Promise<Differing | undefined> {
  const { findGit, scratch, room, repositories, policy, notes } = project;
  try {
    const repository = await freezeRepository(base, { findGit, scratch, room, above: base === policy.root }, signal);
    if (repository === undefined) return undefined;
    const found = await differing(repository, signal, { all: true });
    repositories.set(base, repository);
    return found;
  } catch (error) {
    signal.throwIfAborted();
    notes.push(`The repository in "${base}" is watched without git: ${messageOf(error)}`);
    return undefined;
  }
}

async function listKnown(project: Project, base: string, signal: AbortSignal): Promise<Differing | undefined> {
  const repository = project.repositories.get(base);
  return repository && changedIn(repository, signal);
}

/** All files of a directory that is gone were deleted. */
async function changedIn(repository: FrozenRepository, signal: AbortSignal): Promise<Differing> {
  if (existsSync(repository.base)) return differing(repository, signal);
  return { files: await trackedFiles(repository, signal), nested: [], directories: [] };
}

async function walked(base: string, { policy }: Project, signal: AbortSignal): Promise<Differing> {
  const files: string[] = [];
  const directories: string[] = [];
  if (!existsSync(base)) return { files, nested: [], directories };
  await walkScope(scopeOf(base, policy), { unreadable: () => undefined, signal }, ({ path, kind }) => {
    if (kind === "file" || kind === "symlink") files.push(path);
    if (kind === "directory") directories.push(path);
    return files.length <= mostFiles;
  });
  return { files, nested: [], directories };
}
