import { resolve } from "node:path";
import { counted } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import { realPaths } from "../lib/files/real.ts";
import type { ResultFormat } from "../lib/fleet/formats.ts";
import { openResults } from "../lib/fleet/results/directory.ts";
import { mergeShards } from "../lib/fleet/results/merge.ts";
import type { ResultSet, ResultWriter } from "../lib/fleet/results/resultset.ts";
import { makeScratch, storedResults } from "../lib/fleet/results/stored.ts";
import { beginResults, writePatches, writeResults } from "../lib/fleet/results/write.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { openExistingBatches } from "./batchstore.ts";
import { printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { openResultFile } from "./resultfile.ts";

type FormatOptions = Pick<CommandOptions<"batch results">, "format" | "output">;

/** `koda batch results`: what is known of each task now. */
export async function batchResults(options: CommandOptions<"batch results">): Promise<number> {
  await using store = await openExistingBatches(options);
  const id = await store.find(options.id);
  using scratch = makeScratch();
  await writeFormat(await storedResults(store, id, scratch.path), options);
  return 0;
}

/** `koda batch merge`: the shards of a list as one run. */
export async function mergeResults(options: CommandOptions<"batch merge">): Promise<number> {
  refuseOwnShard(options);
  const { results, heading, exit } = await mergeShards(options.directories.map(openResults));
  if (options.results !== undefined) {
    beginResults(options.results);
    await writeResults(options.results, heading, results);
  }
  await writeFormat(results, options);
  return exit;
}

/** Its rows would be gone before they are read. */
function refuseOwnShard({ directories, results }: CommandOptions<"batch merge">): void {
  if (results === undefined) return;
  const target = realPaths(resolve(results));
  const own = directories.find((path) => realPaths(resolve(path)).some((real) => target.includes(real)));
  if (own !== undefined)
    throw new KodaError("usage", `--results "${results}" is the shard "${own}": name another directory`);
}

async function writeFormat(results: ResultSet, { format = "jsonl", output }: FormatOptions): Promise<void> {
  if (format === "patches") {
    if (output === undefined || output === "-")
      throw new KodaError("usage", "--format patches needs a directory: -o DIR");
    const number = await writePatches(output, results);
    return await printNote(`Wrote ${counted(number, "patch", "patches")} to ${output}`);
  }
  const write = await writerOf(format);
  if (output === undefined || output === "-") return await toStdout(write(results));
  await using file = openResultFile(output);
  for await (const text of write(results)) file.write(text);
  file.finish();
}

async function toStdout(pieces: AsyncIterable<string>): Promise<void> {
  const stdout = new OutputStream(1, "stdout");
  for await (const text of pieces) await stdout.write(text);
  await stdout.flush();
}

async function writerOf(format: Exclude<ResultFormat, "patches">): Promise<ResultWriter> {
  switch (format) {
    case "jsonl":
      return (await import("../lib/fleet/formats/jsonl.ts")).jsonlResults;
    case "junit":
      return (await import("../lib/fleet/formats/junit.ts")).junitResults;
    case "csv":
      return (await import("../lib/fleet/formats/csv.ts")).csvResults;
    case "swebench":
      return (await import("../lib/fleet/formats/swebench.ts")).swebenchResults;
    case "html":
      return (await import("../lib/fleet/formats/html.ts")).htmlResults;
    default:
      return format satisfies never;
  }
}
