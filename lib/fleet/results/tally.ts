import { type Spending, taskStates, type TaskState } from "../store.ts";
import type { ResultRow } from "./row.ts";

/** The sums of results. The counts add up to `total`. */
export type Tally = Required<Spending> & {
  total: number;
  counts: Record<TaskState, number>;
  durationMs: number;
};

export function emptyTally(): Tally {
  const counts = Object.fromEntries(taskStates.map((state) => [state, 0]));
  // Object.fromEntries loses the names.
  return { total: 0, counts: counts as Tally["counts"], costUsd: 0, tokens: 0, isUnpriced: false, durationMs: 0 };
}

export function addToTally(tally: Tally, row: ResultRow): void {
  tally.total += 1;
  tally.counts[row.outcome] += 1;
  tally.costUsd += row.cost_usd ?? 0;
  tally.isUnpriced ||= row.cost_usd === null;
  tally.tokens += row.tokens;
  tally.durationMs += row.duration_ms ?? 0;
}

/** Of tasks of which nobody knows yet how they end. */
export function countUnsettled({ waiting, queued, running }: Readonly<Record<TaskState, number>>): number {
  return waiting + queued + running;
}

/**
 * The exit code of a batch: 0 when all tasks are done, 5 when only limits were in the way, else 3. The cause of a
 * skipped task is the one that it waits for. Undefined when there are tasks that are not settled, for whose sake the
 * batch stopped.
 */
export function exitOfCounts(counts: Readonly<Record<TaskState, number>>): 0 | 3 | 5 | undefined {
  if (counts.failed + counts.poison + counts.cancelled > 0) return 3;
  if (counts.skipped > 0 && counts.limit === 0) return 3;
  if (countUnsettled(counts) > 0) return undefined;
  return counts.limit > 0 ? 5 : 0;
}
