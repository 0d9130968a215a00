import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { KodaError, reasonOf, unlessRefused } from "../../errors.ts";
import { tryLock } from "../../system/descriptors.ts";
import { remove } from "./removal.ts";
import { within } from "../../async/within.ts";

/** The temporary directory of a run; closing it removes it. */
export type Temporary = AsyncDisposable & {
  /** The part that commands may write to. */
  path: string;
  /** The part for copies of settings, which commands may only read. */
  settings: string;
};

/** The start of a directory's name, before the six characters that `mkdtemp` adds. */
export const prefix = "koda-";

/** A file with the name that koda gave to its directory. */
export const marker = ".made-by-koda";

export function makeTemporary(): Temporary {
  using failed = new DisposableStack();
  try {
    const whole = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
    failed.defer(() => rmSync(whole, { recursive: true, force: true }));
    const lock = openSync(whole, constants.O_RDONLY | constants.O_DIRECTORY);
    failed.defer(() => closeSync(lock));
    const [path, settings] = [join(whole, "tmp"), join(whole, "settings")];
    for (const directory of [path, settings]) mkdirSync(directory, { mode: 0o700 });
    // The kernel drops the lock when koda exits. A directory with a marker has had a lock.
    if (tryLock(lock, "alone")) writeFileSync(join(whole, marker), basename(whole), { mode: 0o400 });
    failed.move();
    return { path, settings, [Symbol.asyncDispose]: async () => await close(whole, lock) };
  } catch (error) {
    const message = `Cannot make a directory for temporary files in "${tmpdir()}": ${reasonOf(error)}. Set TMPDIR to a writable directory with free space.`;
    throw new KodaError("config", message, { cause: error });
  }
}

/** A tree of thousands of levels takes minutes to remove, and a command must not delay the end of a run. */
const removalMs = 5_000;

async function close(directory: string, lock: number): Promise<void> {
  try {
    await within(removalMs, removeRun(directory, `/proc/self/fd/${lock}`));
  } finally {
    closeSync(lock);
  }
}

/**
 * The marker goes last, so that an interrupted removal is found again. `held` is the directory by its descriptor, so
 * that a directory put in its place is left alone.
 */
export async function removeRun(directory: string, held: string): Promise<void> {
  const names = unlessRefused(() => readdirSync(held)) ?? [];
  for (const name of names) if (name !== marker) await remove(join(held, name), join(directory, name));
  await remove(join(held, marker));
  unlessRefused(() => rmdirSync(directory));
}
