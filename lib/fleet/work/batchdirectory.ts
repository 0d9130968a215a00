import { readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { mirrorName } from "./mirror.ts";
import type { TaskClaim } from "../store.ts";

/** The directory of a batch on this machine: its work trees, and in `.koda` what koda keeps beside them. */
export function directoryOfBatch(directory: string, batch: string): string {
  return join(directory, pathName(batch));
}

const ownName = ".koda";
/** Beside the states of tasks, none of which has such a key. */
const mirrorsName = "%mirrors";

/** koda's own files about a work tree, where commands cannot write. */
export function stateDirectory(batchDirectory: string, name: string): string {
  return join(ownDirectory(batchDirectory), name);
}

export function mirrorOf(batchDirectory: string, repo: string): string {
  return join(ownDirectory(batchDirectory), mirrorsName, mirrorName(repo));
}

/** The names that a work tree of the task may have: its own, or one for each attempt. `%` is in no key. */
export function namesOf({ task, attempt }: Pick<TaskClaim, "task" | "attempt">): [string, ...string[]] {
  const name = pathName(task.key);
  return [name, ...Array.from({ length: attempt - 1 }, (_, index) => `${name}%${index + 2}`)];
}

/** A key may be `.` or `..`. */
function pathName(key: string): string {
  return key.replace(/^\./, "%2E");
}

export function batchDirectoriesIn(directory: string): { batchDirectory: string; batch: string }[] {
  return namesIn(directory).map((name) => ({
    batchDirectory: join(directory, name),
    batch: name.replace(/^%2E/, "."),
  }));
}

/** The names of the work trees of which koda has a state. */
export function statesIn(batchDirectory: string): string[] {
  return namesIn(ownDirectory(batchDirectory)).filter((name) => name !== mirrorsName);
}

/** All that is koda's own, and no work tree. */
export function ownDirectory(batchDirectory: string): string {
  return join(batchDirectory, ownName);
}

/** Work trees, and those that the user has kept. */
export function treesIn(batchDirectory: string): string[] {
  return namesIn(batchDirectory).filter((name) => name !== ownName);
}

function namesIn(directory: string): string[] {
  return unlessRefused(() => readdirSync(directory)) ?? [];
}
