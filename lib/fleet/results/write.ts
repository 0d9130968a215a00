import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";
import { putFile, temporaryName } from "../../files/save.ts";
import { eachPatch } from "../formats/patches.ts";
import { headingName, patchesName, type ResultsHeading, rowsName } from "./directory.ts";
import type { ResultSet } from "./resultset.ts";
import type { ResultRow } from "./row.ts";

/** Throws when the directory could not be written. What an earlier run has left there is removed. */
export function beginResults(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
    put(path, rowsName, "");
    // Without it the directory is the user's own.
    if (!existsSync(join(path, headingName))) return;
    rmSync(join(path, headingName));
    rmSync(join(path, patchesName), { recursive: true, force: true });
  } catch (error) {
    throw failureOf(path, error);
  }
}

/** Writes a directory with the results; `batch.json`, which comes last, says that it is whole. */
export async function writeResults(path: string, heading: ResultsHeading, results: ResultSet): Promise<void> {
  try {
    using directory = heldAt(path);
    await writeRows(directory, results.rows());
    await writePatches(join(path, patchesName), results);
    put(path, headingName, `${JSON.stringify(heading, undefined, 2)}\n`);
  } catch (error) {
    throw failureOf(path, error);
  }
}

/** Not through a symlink: a task that worked in the current directory may have put it there. */
function heldAt(path: string): HeldDirectory {
  return HeldDirectory.open(resolve(path));
}

/** Replaces a file of the directory, whatever has the name now. */
function put(path: string, name: string, content: string | Uint8Array): void {
  using directory = heldAt(path);
  putFile({ directory, name }, Buffer.from(content), { mode: 0o666 });
}

function removeFile(path: string, name: string): void {
  using directory = heldAt(path);
  rmSync(directory.at(name), { force: true });
}

/** Writes results.jsonl. */
export async function writeRows(directory: HeldDirectory, rows: AsyncIterable<ResultRow>): Promise<void> {
  const temporary = directory.at(temporaryName());
  const descriptor = openSync(temporary, "wx", 0o666);
  try {
    for await (const row of rows) writeFileSync(descriptor, `${JSON.stringify(row)}\n`);
    renameSync(temporary, directory.at(rowsName));
  } finally {
    closeSync(descriptor);
    rmSync(temporary, { force: true });
  }
}

/** Writes KEY.patch for each task that has one, and removes it for the others; returns the number of patches. */
export async function writePatches(path: string, results: ResultSet): Promise<number> {
  try {
    mkdirSync(path, { recursive: true });
    return await eachPatch(results, (name, bytes) => {
      // Of an earlier attempt.
      if (bytes === undefined) removeFile(path, name);
      else put(path, name, bytes);
    });
  } catch (error) {
    throw failureOf(path, error);
  }
}

/** The store may have failed just as well. */
function failureOf(path: string, error: unknown): unknown {
  if (error instanceof KodaError || errnoOf(error) === undefined) return error;
  return new KodaError("output", `Cannot write the results to "${path}": ${reasonOf(error)}`, { cause: error });
}
