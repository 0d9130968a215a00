import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";

/**
 * The parts that must stay as they are, there or not, in a git directory where commands may commit and in those of its
 * submodules and work trees: what git would run, and what would make it look for that somewhere else. Other things that
 * may appear (symlinks, steps of a rebase, new submodules) are for `NewRepositories` to judge.
 */
export function guardedParts(gitDirectory: string): readonly string[] {
  return [gitDirectory, ...innerRepositories(gitDirectory)].flatMap((directory) =>
    parts.map((part) => join(directory, part)),
  );
}

const parts = ["config", "config.worktree", "commondir", "gitdir", "hooks", "objects/info/alternates"];

const deepest = 10;

/** The git directories of submodules and work trees. */
export function innerRepositories(gitDirectory: string, depth = 0): readonly string[] {
  return ["modules", "worktrees"].flatMap((name) => repositoriesBelow(join(gitDirectory, name), depth + 1));
}

/** A submodule's name may have slashes in it, so its git directory may lie deeper. */
function repositoriesBelow(path: string, depth: number): readonly string[] {
  const names = depth > deepest ? undefined : unlessRefused(() => namesIn(path));
  if (names === undefined) return [];
  if (names.includes("HEAD")) return [path, ...innerRepositories(path, depth)];
  return names.flatMap((name) => repositoriesBelow(join(path, name), depth + 1));
}

function namesIn(path: string): readonly string[] {
  using directory = HeldDirectory.open(path);
  return directory.names();
}
