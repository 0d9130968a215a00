import { formatElapsed } from "../lib/config/units.ts";
import { counted, withCommas } from "../lib/counted.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { rowOf, type ResultRow } from "../lib/fleet/results/row.ts";
import { addToTally, countUnsettled, emptyTally, type Tally } from "../lib/fleet/results/tally.ts";
import { type FleetStore, taskStates } from "../lib/fleet/store.ts";
import { shellQuoted } from "../lib/quote.ts";
import { oneLine } from "../lib/sink/style.ts";
import { costWords } from "./batchfigures.ts";
import { storeWords } from "./batchstore.ts";
import { tableOf } from "./table.ts";

const mostShown = 20;

/** The outcomes of a batch, its tasks that are not done, and the command that goes on. */
export async function summaryLines(store: FleetStore, overview: BatchOverview, options: WordsOfRun): Promise<string[]> {
  const { id } = overview;
  const words = storeWords(options);
  const byState = new Map(taskStates.map((state) => [state, emptyTally()]));
  const whole = emptyTally();
  const problems: ResultRow[] = [];
  let notDone = 0;
  for await (const result of store.results(id)) {
    const row = rowOf(result);
    addToTally(whole, row);
    addToTally(byState.get(row.outcome) ?? whole, row);
    if (row.outcome === "done" || row.error === undefined) continue;
    notDone += 1;
    if (problems.length < mostShown) problems.push(row);
  }
  const rows = [...byState].flatMap(([state, tally]) => (tally.total === 0 ? [] : [[state, ...figuresOf(tally)]]));
  const all = ["total", ...figuresOf(whole)];
  const table = tableOf([["OUTCOME", "TASKS", "COST", "TIME"], ...rows, all]).trimEnd();
  const others =
    notDone > problems.length
      ? [`and ${counted(notDone - problems.length, "task")} more: koda batch results ${id}${words}`]
      : [];
  return [...table.split("\n"), ...problems.map(problemLine), ...others, ...nextLines(overview, options)];
}

function figuresOf(tally: Tally): string[] {
  return [withCommas(tally.total), costWords(tally), formatElapsed(tally.durationMs)];
}

function problemLine({ key, outcome, exit, error }: ResultRow): string {
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
function nextLines({ id, counts, state, settings }: BatchOverview, options: WordsOfRun): string[] {
  const open = countUnsettled(counts);
  const again = counts.failed + counts.poison + counts.cancelled + counts.skipped;
  const store = storeWords(options);
  const larger = state === "budget" ? budgetFlags(settings) : "";
  const run = `koda batch run --resume ${id}${store}${runWords(options)}${larger}`;
  return [
    ...(open > 0
      ? [
          `To continue with ${counted(open, "task")}${state === "budget" ? " and a larger budget" : ""}: ` +
            `${run}${more[state]}`,
        ]
      : []),
    ...(again > 0 ? [`To retry what did not work: koda batch retry ${id}${store} && ${run}`] : []),
    ...(counts.limit > 0 ? [`To continue after a limit: koda batch retry ${id} --limits${store} && ${run}`] : []),
  ];
}

type WordsOfRun = {
  readonly store?: string;
  readonly jobs?: number;
  readonly results?: string;
  readonly keep?: boolean;
  readonly publishCommand?: string;
  readonly noSandbox?: boolean;
};

/** The flags that belong to the command and not to the batch. */
function runWords({ jobs, results, keep, publishCommand, noSandbox }: WordsOfRun): string {
  const words = [
    ...(jobs === undefined ? [] : [`-j ${jobs}`]),
    ...(results === undefined ? [] : [`--results ${shellQuoted(results)}`]),
    ...(keep === true ? ["--keep"] : []),
    ...(publishCommand === undefined ? [] : [`--publish-command ${shellQuoted(publishCommand)}`]),
    ...(noSandbox === true ? ["--no-sandbox"] : []),
  ];
  return words.map((word) => ` ${word}`).join("");
}

function budgetFlags({ maxCost, maxTokens }: BatchOverview["settings"]): string {
  return `${maxCost === undefined ? "" : " --max-cost USD"}${maxTokens === undefined ? "" : " --max-tokens N"}`;
}
