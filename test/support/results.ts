import type { ResultSet } from "../../lib/fleet/results/resultset.ts";
import type { ResultRow } from "../../lib/fleet/results/row.ts";
import { addToTally, emptyTally } from "../../lib/fleet/results/tally.ts";

/** A task that is done, or what a test says of it. */
export function resultRow(more: Partial<ResultRow> & { key: string }): ResultRow {
  return {
    outcome: "done",
    attempts: [],
    cost_usd: 0,
    tokens: 0,
    group: "default",
    labels: [],
    patch: false,
    ...more,
  };
}

export function resultSet(rows: readonly ResultRow[], patchOf: (key: string) => Uint8Array): ResultSet {
  const tally = emptyTally();
  for (const row of rows) addToTally(tally, row);
  return {
    name: "06q7y2k3xabc",
    tally,
    async *rows() {
      yield* rows;
    },
    patch: async (key) => patchOf(key),
  };
}
