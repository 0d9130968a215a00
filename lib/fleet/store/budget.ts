import type { BatchSettings, Spending } from "../store.ts";
import type { FleetTask } from "../task.ts";

/** The money that a batch has spent and set aside, and how many attempts that was for. */
export type Account = { spent: Spending; reserved: Spending; finished: number };

/** As long as nothing is known, a task may take this part of the budget. */
const firstShare = 10;

/** Tasks differ: most get by with this many times the average. */
const margin = 2;

/** A grant that is much smaller than what a task needs would be spent in vain. */
const leastPart = 1 / 4;

const measures = ["costUsd", "tokens"] as const;
type Measure = (typeof measures)[number];

export function isLimited(settings: BatchSettings): boolean {
  return measures.some((measure) => limitOf(settings, measure) !== undefined);
}

/** The most that the next attempt may spend, or more for one that goes on; undefined when there is not enough left. */
export function grantFor(
  settings: BatchSettings,
  account: Account,
  task: Pick<FleetTask, "maxCost" | "maxTokens">,
  tooLittle: Spending = { costUsd: 0, tokens: 0 },
): Partial<Spending> | undefined {
  const grant: Partial<Spending> = {};
  for (const measure of measures) {
    const limit = limitOf(settings, measure);
    if (limit === undefined) continue;
    const left = leftOf(limit, account, measure);
    const wanted =
      wantedBy(task, measure) ?? Math.max(estimateOf(limit, account, measure), tooLittle[measure] * margin);
    // With nothing set aside nobody else is running: nothing will come back, so all of it may be used.
    const least = account.reserved[measure] > 0 ? wanted * leastPart : 0;
    const granted = measure === "tokens" ? Math.floor(Math.min(wanted, left)) : Math.min(wanted, left);
    if (granted <= 0 || left < least) return undefined;
    grant[measure] = granted;
  }
  return grant;
}

function leftOf(limit: number, { spent, reserved }: Account, measure: Measure): number {
  const left = limit - spent[measure] - reserved[measure];
  // Sums of floating-point numbers are a little off.
  return left < limit * 1e-9 ? 0 : left;
}

function estimateOf(limit: number, { spent, finished }: Account, measure: Measure): number {
  const estimate = finished === 0 || spent[measure] === 0 ? limit / firstShare : (spent[measure] / finished) * margin;
  // Tasks that have failed at once have spent nothing, and there are no parts of a token.
  return measure === "tokens" ? Math.max(estimate, 1) : estimate;
}

function limitOf({ maxCost, maxTokens }: BatchSettings, measure: Measure): number | undefined {
  return measure === "costUsd" ? maxCost : maxTokens;
}

function wantedBy(
  { maxCost, maxTokens }: Pick<FleetTask, "maxCost" | "maxTokens">,
  measure: Measure,
): number | undefined {
  return measure === "costUsd" ? maxCost : maxTokens;
}
