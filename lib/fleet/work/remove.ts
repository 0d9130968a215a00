import { lstatSync, readdirSync, realpathSync, renameSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";

/** Removes a directory that commands have filled, if it is there. Links are removed, not followed. */
export async function removeDirectory(path: string): Promise<void> {
  const parent = unlessRefused(() => realpathSync(dirname(path)));
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (parent === undefined || found === undefined) return;
  if (!isSimple(path, found)) {
    using above = HeldDirectory.open(parent);
    using top = opened(above, basename(path));
    if (top !== undefined) await flatten(top);
  }
  await rm(path, { recursive: true, force: true });
}

/** Open, and without directories. */
function isSimple(path: string, { mode }: Stats): boolean {
  if ((mode & 0o700) !== 0o700) return false;
  const entries = unlessRefused(() => readdirSync(path, { withFileTypes: true }));
  return entries?.every((entry) => !entry.isDirectory()) === true;
}

/** The same where nothing depends on it: returns why it could not. */
export async function tryRemove(path: string): Promise<string | undefined> {
  try {
    await removeDirectory(path);
    return undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return `Cannot remove "${path}": ${reasonOf(error)}`;
  }
}

/** The path of what lies deeper may be too long for the kernel. */
const mostLevels = 8;

/** Others go on meanwhile: a worker has to say that it lives. */
const directoriesAtOnce = 100;

/**
 * Opens what commands have closed, as caches of some tools are, and moves to the top what lies deep: each removal of a
 * directory goes there from the top, so that the time for a chain of them would grow with the square of its length.
 */
async function flatten(top: HeldDirectory): Promise<void> {
  let count = 0;
  const moved: string[] = [];
  await open(top, 0);
  for (let name = moved.pop(); name !== undefined; name = moved.pop()) {
    using directory = opened(top, name);
    if (directory !== undefined) await open(directory, 1);
  }

  async function open(directory: HeldDirectory, level: number): Promise<void> {
    if (++count % directoriesAtOnce === 0) await setImmediate();
    for (const entry of unlessRefused(() => directory.entries()) ?? []) {
      using child = entry.isDirectory() ? opened(directory, entry.name) : undefined;
      if (child === undefined) continue;
      if (level < mostLevels) await open(child, level + 1);
      else moveUp(directory, entry.name);
    }
  }

  function moveUp(directory: HeldDirectory, name: string): void {
    const other = `koda-${crypto.randomUUID()}`;
    unlessRefused(() => renameSync(directory.at(name), top.at(other)));
    moved.push(other);
  }
}

/** Undefined for anything but a directory. */
function opened(parent: HeldDirectory, name: string): HeldDirectory | undefined {
  const directory = unlessRefused(() => parent.child(name));
  const mode = parent.look(name)?.mode ?? 0n;
  if (directory !== undefined && (mode & 0o700n) !== 0o700n) unlessRefused(() => directory.chmod(0o700));
  return directory;
}
