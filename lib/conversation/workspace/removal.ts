import { rm } from "node:fs/promises";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";

/**
 * Removes a tree that commands made. Some programs make their caches read-only, so directories are made writable first.
 * `real` is the path of the tree when `path` refers to it by a descriptor.
 */
export async function remove(path: string, real = path): Promise<void> {
  if (await tryRemove(path)) return;
  unlessRefused(() => {
    using directory = HeldDirectory.open(real);
    letRemove(directory, deepest);
  });
  // Leftovers must not fail a run: the system cleans such places up.
  await tryRemove(path);
}

async function tryRemove(path: string): Promise<boolean> {
  try {
    await rm(path, { recursive: true, force: true });
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** The limit of levels that are made writable: each is held open on the way. */
const deepest = 100;

function letRemove(directory: HeldDirectory, levels: number): void {
  directory.chmod(0o700);
  if (levels === 0) return;
  for (const name of directory.names()) {
    if (directory.look(name)?.isDirectory() !== true) continue;
    using child = directory.child(name);
    letRemove(child, levels - 1);
  }
}
