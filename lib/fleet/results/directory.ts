import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { readJson } from "../../config/json.ts";
import { errnoOf, KodaError, reasonOf } from "../../errors.ts";
import { openRegular } from "../../files/held.ts";
import { readRegularFile } from "../../files/read.ts";
import { patchName } from "../formats/patches.ts";
import { linesFrom } from "../work/lines.ts";
import { largestPatch } from "../work/patchsize.ts";
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

export const headingName = "batch.json";
export const rowsName = "results.jsonl";
export const patchesName = "patches";

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
  const fail = (problem: string, expected = "expected a directory that koda batch run --results wrote") =>
    new KodaError("usage", `Cannot merge "${path}": ${problem}; ${expected}`);
  if (bytes === undefined && existsSync(join(path, rowsName)))
    throw fail(`there is no ${headingName} in it`, "its koda batch run is still running or was killed: run it again");
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
  throw new KodaError("usage", `Cannot read "${file}": it is larger than any patch that koda writes`);
}
