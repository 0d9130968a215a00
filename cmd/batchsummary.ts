import { formatElapsed } from "../lib/config/units.ts";
import { counted, withCommas } from "../lib/counted.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { rowOf, type ResultRow } from "../lib/fleet/results/row.ts";
import { addToTally, countUnsettled, emptyTally, type Tally } from "../lib/fleet/results/tally.ts";
import { type FleetStore, taskStates } from "../lib/fleet/store.ts";
import { oneLine } from "../lib/sink/style.ts";
import { costWords } from "./batchfigures.ts";
import { storeWords } from "./batchstore.ts";
import { tableOf } from "./table.ts";

const mostFaults = 20;

/** The outcomes of a batch, its tasks that are not done, and the command that goes on. */
export async function summaryLines(
  store: FleetStore,
  overview: BatchOverview,
  options: { readonly store?: string },
): Promise<string[]> {
  const { id } = overview;
  const words = storeWords(options);
  const byState = new Map(taskStates.map((state) => [state, emptyTally()]));
  const whole = emptyTally();
  const faults: ResultRow[] = [];
  let notDone = 0;
  for await (const result of store.results(id)) {
    const row = rowOf(result);
    addToTally(whole, row);
    addToTally(byState.get(row.outcome) ?? whole, row);
    if (row.outcome === "done" || row.error === undefined) continue;
    notDone += 1;
    if (faults.length < mostFaults) faults.push(row);
  }
  const rows = [...byState].flatMap(([state, tally]) => (tally.total === 0 ? [] : [[state, ...figuresOf(tally)]]));
  const all = ["total", ...figuresOf(whole)];
  const table = tableOf([["OUTCOME", "TASKS", "COST", "TIME"], ...rows, all]).trimEnd();
  const others =
    notDone > faults.length
      ? [`and ${counted(notDone - faults.length, "task")} more: koda batch results ${id}${words}`]
      : [];
  return [...table.split("\n"), ...faults.map(faultLine), ...others, ...nextLines(overview, words)];
}

function figuresOf(tally: Tally): string[] {
  return [withCommas(tally.total), costWords(tally), formatElapsed(tally.durationMs)];
}

function faultLine({ key, outcome, exit, error }: ResultRow): string {
  return `${outcome}  ${key}: ${oneLine(error?.message ?? "", 200)}${exit === undefined ? "" : ` (exit ${exit})`}`;
}

/** The same would stop for the same reason. */
const more: Readonly<Record<BatchOverview["state"], string>> = {
  open: "",
  over: "",
  cancelled: "",
  halted: " --keep-going",
  budget: "",
};

/** The commands that go on. */
function nextLines({ id, counts, state, settings }: BatchOverview, store: string): string[] {
  const open = countUnsettled(counts);
  const again = counts.failed + counts.poison + counts.cancelled + counts.skipped;
  return [
    ...(open > 0
      ? [
          `To go on with ${counted(open, "task")}${state === "budget" ? ", with a larger budget" : ""}: ` +
            `koda batch run --resume ${id}${store}${more[state]}${state === "budget" ? budgetFlags(settings) : ""}`,
        ]
      : []),
    ...(again > 0
      ? [`To retry what did not work: koda batch retry ${id}${store} && koda batch run --resume ${id}${store}`]
      : []),
    ...(counts.limit > 0
      ? [`To go on after a limit: koda batch retry ${id} --limits${store} && koda batch run --resume ${id}${store}`]
      : []),
  ];
}

function budgetFlags({ maxCost, maxTokens }: BatchOverview["settings"]): string {
  return `${maxCost === undefined ? "" : " --max-cost USD"}${maxTokens === undefined ? "" : " --max-tokens N"}`;
}
