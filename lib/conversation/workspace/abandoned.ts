import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRegularFile } from "../../files/read.ts";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { tryLock } from "../../system/descriptors.ts";
import { isBelow } from "../../files/path.ts";
import { within } from "../../async/within.ts";
import { marker, prefix, removeRun } from "./temporary.ts";

const mostAtOnce = 32;

/** The end of a run waits this long; the rest is left to the next run. */
const lastMomentMs = 200;

/**
 * Removes the temporary directories of killed runs in the background, until it is closed. A living run holds a lock on
 * its directory. A process id would not do: it may have been reused.
 */
export function removeAbandoned(
  writable: readonly string[],
  directory: string = tmpdir(),
): AsyncDisposable & { removed: Promise<void> } {
  let isOver = false;
  // In a directory that commands may write to, they could replace what is being removed.
  const removed = writable.some((root) => isBelow(directory, root)) ? Promise.resolve() : sweep();
  return {
    removed,
    async [Symbol.asyncDispose]() {
      isOver = true;
      await within(lastMomentMs, removed);
    },
  };

  async function sweep(): Promise<void> {
    let count = 0;
    for (const name of await namesIn(directory)) {
      if (isOver || count === mostAtOnce) return;
      const lock = lockAbandoned(directory, name);
      if (lock === undefined) continue;
      count++;
      try {
        await removeRun(join(directory, name), `/proc/self/fd/${lock}`);
      } finally {
        closeSync(lock);
      }
    }
  }
}

const nameOfRun = new RegExp(`^${prefix}[A-Za-z0-9]{6}$`);

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    // A directory that cannot be listed is left alone.
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** The lock on an abandoned directory; undefined when a run still owns it, or koda did not make it. */
function lockAbandoned(directory: string, name: string): number | undefined {
  if (!nameOfRun.test(name)) return undefined;
  const path = join(directory, name);
  const opened = unlessRefused(() => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (opened === undefined) return undefined;
  // The order matters: a starting run takes the lock before it writes the marker.
  if (isOurs(opened, name) && tryLock(opened, "alone") && isStill(path, opened)) return opened;
  closeSync(opened);
  return undefined;
}

/** Only the owner can write the marker into a directory that nobody else may enter. */
function isOurs(opened: number, name: string): boolean {
  const { uid, mode } = fstatSync(opened);
  if (uid !== process.geteuid?.() || (mode & 0o077) !== 0) return false;
  const written = unlessRefused(() => readRegularFile(`/proc/self/fd/${opened}/${marker}`, name.length));
  return written !== undefined && !("problem" in written) && Buffer.from(written).toString() === name;
}

/** Another koda may have removed it in the meantime. */
function isStill(path: string, opened: number): boolean {
  const now = unlessRefused(() => lstatSync(path));
  const then = fstatSync(opened);
  return now?.ino === then.ino && now.dev === then.dev;
}
