import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoOf, KodaError, reasonOf, unlessRefused } from "../errors.ts";
import { HeldDirectory } from "../trust/held.ts";

/** A run's own directory for temporary files, which commands may fill as they like; closing it removes it. */
export type Temporary = Disposable & { path: string };

export function makeTemporary(): Temporary {
  try {
    const path = realpathSync(mkdtempSync(join(tmpdir(), "koda-")));
    return { path, [Symbol.dispose]: () => remove(path) };
  } catch (error) {
    const message = `Cannot make a directory for temporary files in "${tmpdir()}": ${reasonOf(error)}. Set TMPDIR to a directory that can be written to.`;
    throw new KodaError("config", message, { cause: error });
  }
}

/** Caches are made read-only by some programs, and then nobody but root can remove what is in them. */
function remove(path: string): void {
  if (tryRemove(path)) return;
  unlessRefused(() => {
    using directory = HeldDirectory.open(path);
    letRemove(directory);
  });
  // What cannot be removed even so is no reason for a run to fail: the system clears such places.
  tryRemove(path);
}

function tryRemove(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function letRemove(directory: HeldDirectory): void {
  directory.chmod(0o700);
  for (const name of directory.names()) {
    if (directory.look(name)?.isDirectory() !== true) continue;
    using child = directory.child(name);
    letRemove(child);
  }
}
