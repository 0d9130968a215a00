import { mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoOf, KodaError, reasonOf, unlessRefused } from "../errors.ts";
import { HeldDirectory } from "../trust/held.ts";

/** A run's own directory for temporary files; closing it removes it. */
export type Temporary = AsyncDisposable & {
  /** Commands may fill it as they like. */
  path: string;
  /** Copies of settings, which commands only read. */
  settings: string;
};

export function makeTemporary(): Temporary {
  try {
    const whole = realpathSync(mkdtempSync(join(tmpdir(), "koda-")));
    const [path, settings] = [join(whole, "tmp"), join(whole, "settings")];
    for (const directory of [path, settings]) mkdirSync(directory, { mode: 0o700 });
    return { path, settings, [Symbol.asyncDispose]: async () => await within(removalMs, remove(whole)) };
  } catch (error) {
    const message = `Cannot make a directory for temporary files in "${tmpdir()}": ${reasonOf(error)}. Set TMPDIR to a directory that can be written to.`;
    throw new KodaError("config", message, { cause: error });
  }
}

/** A tree of thousands of levels takes minutes to remove, and no command is to hold up the end of a run. */
const removalMs = 5_000;

async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Caches are made read-only by some programs, and then nobody but root can remove what is in them. */
async function remove(path: string): Promise<void> {
  if (await tryRemove(path)) return;
  unlessRefused(() => {
    using directory = HeldDirectory.open(path);
    letRemove(directory, deepest);
  });
  // What cannot be removed even so is no reason for a run to fail: the system clears such places.
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

/** As many levels of directories are made removable: each is held open on the way. */
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
