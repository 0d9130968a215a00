import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { readJson } from "../../config/json.ts";
import { errnoOf, KodaError, reasonOf } from "../../errors.ts";
import { HeldDirectory, openRegular } from "../../files/held.ts";
import { readRegularFile } from "../../files/read.ts";
import { putFile, temporaryName } from "../../files/save.ts";
import { eachPatch, patchName } from "../formats/patches.ts";
import { linesFrom } from "../work/lines.ts";
import { largestPatch } from "../work/patchsize.ts";
import type { ResultSet } from "./resultset.ts";
import { resultRowSchema, type ResultRow } from "./row.ts";

/** As many as --shard takes. */
const mostShards = 99_999;

/** The batch and the list that results belong to: shards of one list have the same digest. */
const headingSchema = z.object({
  koda: z.literal("batch results"),
  batch: z.string(),
  list: z.object({ digest: z.string(), total: z.int().nonnegative() }),
  shard: z.object({ index: z.int().positive(), of: z.int().positive().max(mostShards) }),
  /** The number of its tasks. */
  tasks: z.int().nonnegative(),
  exit: z.int(),
});

export type ResultsHeading = z.infer<typeof headingSchema>;

const headingName = "batch.json";
const rowsName = "results.jsonl";
const patchesName = "patches";

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
    throw errnoOf(error) === undefined ? error : outputError(path, error);
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
    throw error instanceof KodaError || errnoOf(error) === undefined ? error : outputError(path, error);
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
    for await (const row of rows) writeWhole(descriptor, `${JSON.stringify(row)}\n`);
    renameSync(temporary, directory.at(rowsName));
  } finally {
    closeSync(descriptor);
    rmSync(temporary, { force: true });
  }
}

function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let sent = 0; sent < bytes.length;) sent += writeSync(descriptor, bytes, sent);
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
    throw error instanceof KodaError || errnoOf(error) === undefined ? error : outputError(path, error);
  }
}

function outputError(path: string, error: unknown): KodaError {
  return new KodaError("output", `Cannot write the results to "${path}": ${reasonOf(error)}`, { cause: error });
}

/** A directory of --results. */
export type ResultsDirectory = {
  path: string;
  heading: ResultsHeading;
  rows(): AsyncIterable<ResultRow>;
  patch(key: string): Promise<Uint8Array | undefined>;
  hasPatch(key: string): boolean;
};

const largestHeading = 1024 * 1024;

export function openResults(path: string): ResultsDirectory {
  return {
    path,
    heading: readHeading(path),
    rows: () => readRows(path),
    patch: async (key) => readPatch(path, key),
    hasPatch: (key) => existsSync(patchFile(path, key)),
  };
}

function readHeading(path: string): ResultsHeading {
  const bytes = readRegularFile(join(path, headingName), largestHeading);
  const fail = (problem: string) =>
    new KodaError(
      "usage",
      `Cannot merge "${path}": ${problem}; expected a directory that koda batch run --results wrote`,
    );
  if (bytes === undefined) throw fail(`there is no ${headingName} in it`);
  if ("problem" in bytes) throw fail(`${headingName}: ${bytes.problem}`);
  const parsed = headingSchema.safeParse(readJson(new TextDecoder().decode(bytes)).value);
  if (parsed.success) return parsed.data;
  throw fail(`${headingName} is of another kind`);
}

/** Line by line: there may be many, with long answers. */
export async function* readRows(path: string): AsyncGenerator<ResultRow, void> {
  const file = join(path, rowsName);
  let number = 0;
  for await (const line of linesIn(file)) {
    number += 1;
    if (line.trim() === "") continue;
    const row = resultRowSchema.safeParse(readJson(line).value);
    if (!row.success)
      throw new KodaError("usage", `Cannot read ${file}:${number}: it is not a result of koda batch run`);
    yield row.data;
  }
}

/** Far more than a worker reads of one run. */
const longestRow = 256 * 1024 * 1024;

async function* linesIn(file: string): AsyncGenerator<string, void> {
  try {
    // A named pipe would be waited for.
    if (!statSync(file).isFile()) throw new KodaError("usage", `Cannot read "${file}": it is not a regular file`);
    yield* linesFrom(Bun.file(file).stream(), { most: longestRow, isFile: true });
  } catch (error) {
    if (error instanceof KodaError || errnoOf(error) === undefined) throw error;
    throw new KodaError("usage", `Cannot read "${file}": ${reasonOf(error)}`, { cause: error });
  }
}

function patchFile(path: string, key: string): string {
  return join(path, patchesName, basename(patchName(key)));
}

/** A key is checked when its row is read, so the file is in the directory; a symlink is not followed. */
function readPatch(path: string, key: string): Uint8Array | undefined {
  const file = patchFile(path, key);
  try {
    using opened = openRegular(file);
    if (opened.stats.size <= largestPatch) return readFileSync(opened.descriptor);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw new KodaError("usage", `Cannot read "${file}": ${reasonOf(error)}`, { cause: error });
  }
  throw new KodaError("usage", `Cannot read "${file}": it is larger than any patch of koda`);
}
