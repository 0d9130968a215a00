import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { errnoOf, KodaError, reasonOf } from "../errors.ts";
import { tryLock } from "./descriptors.ts";

/**
 * An empty directory that stands where something protected is missing, so that a command cannot make it: a mount needs
 * a place. It is there as long as any command of any koda needs it, which each says by a lock on it, and its mode
 * tells it from an empty directory of the user's own; one that a killed koda left is used and removed by the next.
 */
const standInMode = 0o500;
const attempts = 10;

export class StandIn implements Disposable {
  readonly #path: string;
  #directory: number | undefined;

  private constructor(path: string, directory?: number) {
    this.#path = path;
    this.#directory = directory;
  }

  /** Undefined when something else is there already. */
  static hold(path: string): StandIn | undefined {
    for (let attempt = 0; attempt < attempts; attempt++) {
      make(path);
      const directory = openStandIn(path);
      if (directory === "something else") return undefined;
      if (directory === "gone") continue;
      // Between the two somebody may have removed it.
      if (tryLock(directory, "shared") && isStill(path, directory)) return new StandIn(path, directory);
      closeSync(directory);
    }
    // It is there, but cannot be locked, as on some network file systems: then it stays.
    return new StandIn(path);
  }

  [Symbol.dispose](): void {
    const directory = this.#directory;
    if (directory === undefined) return;
    this.#directory = undefined;
    try {
      // Whoever is the last to need it takes it away.
      if (tryLock(directory, "alone") && isStill(this.#path, directory)) remove(this.#path);
    } finally {
      closeSync(directory);
    }
  }
}

function make(path: string): void {
  try {
    mkdirSync(path, { mode: standInMode });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST")
      throw new KodaError("sandbox", `Cannot protect "${path}", which is not there yet: ${reasonOf(error)}`);
  }
}

function openStandIn(path: string): number | "something else" | "gone" {
  try {
    const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    if ((fstatSync(directory).mode & 0o7777) === standInMode) return directory;
    closeSync(directory);
    return "something else";
  } catch (error) {
    return errnoOf(error) === "ENOENT" ? "gone" : "something else";
  }
}

function isStill(path: string, directory: number): boolean {
  const [now, then] = [lstatSync(path, { throwIfNoEntry: false }), fstatSync(directory)];
  return now?.ino === then.ino && now.dev === then.dev;
}

function remove(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    // It has become somebody's directory, with something in it.
    if (errnoOf(error) !== "ENOTEMPTY" && errnoOf(error) !== "ENOENT") throw error;
  }
}
