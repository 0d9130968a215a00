import { formatElapsed } from "../lib/config/units.ts";
import { counted, withCommas } from "../lib/counted.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { knownCost } from "../lib/fleet/results/row.ts";
import { countUnsettled, exitOfCounts } from "../lib/fleet/results/tally.ts";
import { type Spending, taskStates } from "../lib/fleet/store.ts";
import { dollars } from "../lib/sink/style.ts";

/** `12 done, 1 failed, 3 running`. */
export function countsLine({ counts }: Pick<BatchOverview, "counts">): string {
  return settledFirst
    .flatMap((state) => (counts[state] > 0 ? [`${withCommas(counts[state])} ${state}`] : []))
    .join(", ");
}

const settledFirst = [...taskStates.slice(3), "running", "queued", "waiting"] as const;

function spentLine({ spent }: Pick<BatchOverview, "spent">): string {
  return `${costWords(spent)}, ${counted(spent.tokens, "token")}`;
}

/** Models may have no known price. */
export function costWords({ costUsd, isUnpriced = false }: Pick<Spending, "costUsd" | "isUnpriced">): string {
  if (!isUnpriced) return dollars(costUsd);
  return costUsd === 0 ? "cost unknown" : `at least ${dollars(costUsd)}`;
}

/** Nothing of it runs, and nothing will. */
export function isSettled({ state, counts }: Pick<BatchOverview, "state" | "counts">): boolean {
  return state !== "open" && counts.running === 0;
}

/** The exit code of a batch that is over. */
export function exitOfBatch({ state, counts }: Pick<BatchOverview, "state" | "counts">): number {
  return exitOfCounts(counts) ?? (state === "budget" ? 5 : 3);
}

/** `12/20 settled: 11 done, 1 failed, 3 running, $0.42`. */
export function progressLine(overview: BatchOverview): string {
  const { total, counts } = overview;
  const settled = `${withCommas(total - countUnsettled(counts))}/${withCommas(total)} settled`;
  return [`${settled}: ${countsLine(overview)}`, costWords(overview.spent), ...pauseWords(overview)].join(", ");
}

/** Without them a batch in which nothing may begin would look as if it hung. */
export function pauseWords({ paused }: Pick<BatchOverview, "paused">): string[] {
  const now = Date.now();
  return paused.map(
    ({ group, until }) => `group "${group}" is paused by its provider for ${formatElapsed(until - now)}`,
  );
}

export function overviewJson(overview: BatchOverview): Record<string, unknown> {
  const { id, submittedAt, state, total, counts, spent, reserved, settings, workers, paused } = overview;
  return {
    id,
    submitted_at: new Date(submittedAt).toISOString(),
    state,
    total,
    counts,
    cost_usd: knownCost(spent),
    tokens: spent.tokens,
    reserved: { cost_usd: reserved.costUsd, tokens: reserved.tokens },
    ...(settings.maxCost !== undefined && { max_cost_usd: settings.maxCost }),
    ...(settings.maxTokens !== undefined && { max_tokens: settings.maxTokens }),
    // Each running task may have sent one request when the budget ends.
    most_requests_over_budget: counts.running,
    workers: workers.map(({ id: worker, host, pid, running, seenAt, left }) => ({
      id: worker,
      host,
      pid,
      running,
      seen_at: new Date(seenAt).toISOString(),
      ...(left !== undefined && { left }),
    })),
    paused: paused.map(({ group, until }) => ({ group, until: new Date(until).toISOString() })),
  };
}

/** The page of one batch, for people. `store` are the words of a command line that finds it. */
export function overviewLines(overview: BatchOverview, { now, store }: { now: number; store: string }): string[] {
  const { id, state, total, counts, settings, reserved, workers, paused, labels } = overview;
  const { maxCost, maxTokens } = settings;
  const caps = [
    ...(maxCost === undefined ? [] : [`${dollars(maxCost)} (${dollars(reserved.costUsd)} reserved)`]),
    ...(maxTokens === undefined ? [] : [`${counted(maxTokens, "token")} (${withCommas(reserved.tokens)} reserved)`]),
  ];
  const over = `; running tasks may exceed it by ${counted(counts.running, "request")}`;
  return [
    `batch    ${id}, ${stateWords[state]}`,
    `tasks    ${withCommas(total)}: ${countsLine(overview)}`,
    `spent    ${spentLine(overview)}`,
    ...(caps.length === 0 ? [] : [`budget   ${caps.join(", ")}${counts.running > 0 ? over : ""}`]),
    ...paused.map(({ group, until }) => `paused   ${group}: its provider asked to wait ${formatElapsed(until - now)}`),
    ...workers.map((worker) => `worker   ${workerLine(worker, now)}`),
    ...(isIdle(overview, now)
      ? [
          `If no worker is waiting for its tasks, start one: koda worker${store}${labelWords(labels)}, ` +
            `or koda batch run --resume ${id}${store}`,
        ]
      : []),
  ];
}

/** There is something to do, and as far as is known nobody does it, nor waits for the provider. */
function isIdle({ state, counts, workers, settings, paused }: BatchOverview, now: number): boolean {
  if (state !== "open" || paused.length > 0) return false;
  if (counts.running === 0) return counts.queued > 0;
  const busy = workers.filter(({ running }) => running.length > 0);
  return busy.length > 0 && busy.every(({ seenAt }) => now - seenAt > settings.leaseMs);
}

function labelWords(labels: readonly string[]): string {
  return labels.length === 0 ? "" : ` --labels ${labels.join(",")}`;
}

const stateWords: Readonly<Record<BatchOverview["state"], string>> = {
  open: "open",
  over: "over",
  halted: "halted by a failed task: koda batch retry queues it again and starts the others",
  budget: "out of budget: give koda batch run --resume a larger --max-cost or --max-tokens",
  cancelled: "cancelled",
};

function workerLine({ host, pid, running, seenAt, left }: BatchOverview["workers"][number], now: number): string {
  const name = `${host} (process ${pid})`;
  const ago = `${formatElapsed(Math.max(0, now - seenAt))} ago`;
  if (left !== undefined && running.length === 0) return `${name} stopped ${ago}: ${left}`;
  const does =
    running.length === 0 ? "runs nothing" : `runs ${running.slice(0, 5).join(", ")}${running.length > 5 ? " …" : ""}`;
  return `${name} ${does}, last seen ${ago}${left === undefined ? "" : `; takes no more tasks: ${left}`}`;
}
