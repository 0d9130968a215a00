import { realpathSync } from "node:fs";
import { HeldDirectory } from "../../files/held.ts";
import type { FleetStore } from "../store.ts";
import { readRows } from "./directory.ts";
import type { ResultSet } from "./resultset.ts";
import { type ResultRow, rowOf } from "./row.ts";
import { addToTally, emptyTally } from "./tally.ts";
import { writeRows } from "./write.ts";

type Results = Pick<FleetStore, "results" | "patch">;

/**
 * The results of a batch in the store at one moment. A batch that runs changes between two readings, so the rows are
 * copied to the directory `scratch`.
 */
export async function storedResults(store: Results, batch: string, scratch: string): Promise<ResultSet> {
  const tally = emptyTally();
  const rows = async function* (): AsyncGenerator<ResultRow, void> {
    for await (const result of store.results(batch)) {
      const row = rowOf(result);
      addToTally(tally, row);
      yield row;
    }
  };
  using directory = HeldDirectory.open(realpathSync(scratch));
  await writeRows(directory, rows());
  return { name: batch, tally, rows: () => readRows(scratch), patch: (key) => store.patch(batch, key) };
}
