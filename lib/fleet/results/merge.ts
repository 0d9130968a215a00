import { counted } from "../../counted.ts";
import { KodaError } from "../../errors.ts";
import type { ResultsDirectory, ResultsHeading } from "./directory.ts";
import type { ResultSet } from "./resultset.ts";
import type { ResultRow } from "./row.ts";
import { addToTally, emptyTally, exitOfCounts } from "./tally.ts";

type Merged = { results: ResultSet; exit: number; heading: ResultsHeading };

/** All shards of a list as the results of one run. */
export async function mergeShards(directories: readonly ResultsDirectory[]): Promise<Merged> {
  const shards = inOrder(directories);
  const owners = new Map<string, ResultsDirectory>();
  const tally = emptyTally();
  for (const shard of shards) {
    let tasks = 0;
    for await (const row of shard.rows()) {
      const other = owners.get(row.key);
      if (other !== undefined)
        throw refusal(`task "${row.key}" is in "${other.path}" and in "${shard.path}": expected each task once`);
      if (row.patch && !shard.hasPatch(row.key)) throw refusal(`"${shard.path}" is missing the patch of "${row.key}"`);
      owners.set(row.key, shard);
      addToTally(tally, row);
      tasks += 1;
    }
    if (tasks !== shard.heading.tasks)
      throw refusal(`"${shard.path}" has ${tasks} of its ${counted(shard.heading.tasks, "task")}`);
  }
  const [first] = shards;
  if (first === undefined) throw refusal("there is no directory");
  const { list } = first.heading;
  if (tally.total !== list.total) throw refusal(`the shards have ${tally.total} of ${counted(list.total, "task")}`);
  const name = [...new Set(shards.map(({ heading }) => heading.batch))].join("+");
  const exit = exitOfCounts(tally.counts) ?? exitOfStopped(shards);
  return {
    results: { name, tally, rows: () => inTurn(shards), patch: async (key) => await owners.get(key)?.patch(key) },
    exit,
    heading: { koda: "batch results", batch: name, list, shard: { index: 1, of: 1 }, tasks: list.total, exit },
  };
}

/** A shard with tasks that are not settled says why it stopped: a fault, a signal, or else its budget. */
function exitOfStopped(shards: readonly ResultsDirectory[]): number {
  const exits = shards.map(({ heading }) => heading.exit);
  return exits.find((exit) => ![0, 3, 5].includes(exit)) ?? (exits.includes(3) ? 3 : 5);
}

function inOrder(directories: readonly ResultsDirectory[]): ResultsDirectory[] {
  const [first] = directories;
  if (first === undefined) return [];
  const { list, shard } = first.heading;
  const byIndex = new Map<number, ResultsDirectory>();
  for (const directory of directories) {
    const { heading, path } = directory;
    if (heading.list.digest !== list.digest || heading.shard.of !== shard.of)
      throw refusal(
        `"${first.path}" (shard ${nameOf(first)}) and "${path}" (shard ${nameOf(directory)}) are of different lists, ` +
          "or of the same one with other defaults or another number of shards",
      );
    const other = byIndex.get(heading.shard.index);
    if (other !== undefined) throw refusal(`"${other.path}" and "${path}" are both shard ${nameOf(directory)}`);
    byIndex.set(heading.shard.index, directory);
  }
  const indexes = Array.from({ length: shard.of }, (_, index) => index + 1);
  const missing = indexes.filter((index) => !byIndex.has(index));
  const names = missing.slice(0, mostNamed).map((index) => `${index}/${shard.of}`);
  if (missing.length > mostNamed) names.push(`${missing.length - mostNamed} more`);
  if (missing.length === 1) throw refusal(`shard ${names.join()} is missing`);
  if (missing.length > 1) throw refusal(`shards ${names.join(", ")} are missing`);
  return indexes.flatMap((index) => byIndex.get(index) ?? []);
}

const mostNamed = 20;

function nameOf({ heading: { shard } }: ResultsDirectory): string {
  return `${shard.index}/${shard.of}`;
}

function refusal(problem: string): KodaError {
  return new KodaError("usage", `Cannot merge: ${problem}`);
}

/** A row of each shard in turn: that is how tasks were handed out, so the rows come in the order of the list. */
async function* inTurn(shards: readonly ResultsDirectory[]): AsyncGenerator<ResultRow, void> {
  let readers = shards.map((shard) => shard.rows()[Symbol.asyncIterator]());
  while (readers.length > 0) {
    const left: typeof readers = [];
    for (const reader of readers) {
      const { value, done } = await reader.next();
      if (done) continue;
      yield value;
      left.push(reader);
    }
    readers = left;
  }
}
