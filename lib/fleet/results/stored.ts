import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoOf, KodaError, reasonOf } from "../../errors.ts";
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
  try {
    using directory = HeldDirectory.open(realpathSync(scratch));
    await writeRows(directory, rows());
  } catch (error) {
    throw scratchError(error);
  }
  return { name: batch, tally, rows: () => readRows(scratch), patch: (key) => store.patch(batch, key) };
}

/** A directory for results that are read twice. */
export function makeScratch(): Disposable & { path: string } {
  try {
    const path = mkdtempSync(join(tmpdir(), "koda-batch-"));
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
  } catch (error) {
    throw scratchError(error);
  }
}

function scratchError(error: unknown): unknown {
  if (error instanceof KodaError || errnoOf(error) === undefined) return error;
  const advice = "Set TMPDIR to a writable directory with free space.";
  return new KodaError("output", `Cannot write temporary files to "${tmpdir()}": ${reasonOf(error)}. ${advice}`, {
    cause: error,
  });
}
