import { setTimeout as sleep } from "node:timers/promises";
import { exitByCode, KodaError } from "../lib/errors.ts";
import { counted } from "../lib/counted.ts";
import type { FleetEvent } from "../lib/fleet/events.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import { beginResults, writeResults } from "../lib/fleet/results/write.ts";
import { makeScratch, storedResults } from "../lib/fleet/results/stored.ts";
import type { BatchChange, FleetStore } from "../lib/fleet/store.ts";
import type { FleetTask } from "../lib/fleet/task.ts";
import type { SubmittedList } from "./batchlist.ts";
import { assertPrices } from "./batchprices.ts";
import { exitOfBatch, isSettled, pauseWords } from "./batchfigures.ts";
import { Settlements } from "./batchsettlements.ts";
import { openBatchStore } from "./batchstore.ts";
import { checkedList, submitList } from "./batchsubmit.ts";
import { summaryLines } from "./batchsummary.ts";
import { batchEnd, BatchReport } from "./batchreport.ts";
import { workOnTasks } from "./fleetworker.ts";
import type { CommandOptions } from "./options.ts";
import { hasNoModel, openModelCheck } from "./taskmodels.ts";
import type { Stopper } from "./signals.ts";

type RunOptions = CommandOptions<"batch run">;

/** `koda batch run`: a list to its end, in this process and those that it starts. */
export async function runBatch(options: RunOptions, stopper: Stopper): Promise<number> {
  const checkModel = await openModelCheck();
  const list =
    options.resume === undefined ? await listToRun(options, checkModel, stopper.controller.signal) : undefined;
  await using store = await openBatchStore(options, "worker");
  const id = await begin(store, list, options);
  const report = await BatchReport.open({ json: options.json, pipe: "tabs" }, stopper.controller);
  const { total, paused } = await store.overview(id);
  const waits = pauseWords({ paused }).map((words) => `koda: ${words}`);
  await report.lines([`koda: batch ${id}, ${counted(total, "task")}`, ...waits]);
  await report.event({ type: "batch.start", batch: id, total });
  const worked = await workOn({ store, id, report, options, tasks: list?.tasks }, stopper);
  const overview = await store.overview(id);
  const exit = exitOf(overview, worked, stopper);
  if (options.results !== undefined) await writeDirectory(store, overview, { path: options.results, exit });
  await report.event(batchEnd(overview, exit));
  await report.lines(await summaryLines(store, overview, options));
  await report.finish();
  // A stdout that failed at the very end counts too.
  return exitOf(overview, worked, stopper);
}

/** Its tasks all run here. */
async function listToRun(
  options: RunOptions,
  checkModel: Awaited<ReturnType<typeof openModelCheck>>,
  signal: AbortSignal,
): Promise<SubmittedList> {
  const list = await checkedList(options, signal, checkModel);
  if (list.tasks.some(hasNoModel)) await checkModel({});
  return list;
}

/** The id of the batch. Nothing is submitted when its results could not be written. */
async function begin(store: FleetStore, list: SubmittedList | undefined, options: RunOptions): Promise<string> {
  const prepare = () => options.results !== undefined && beginResults(options.results);
  if (list === undefined) {
    const id = await reopened(store, options);
    prepare();
    return id;
  }
  prepare();
  return await submitList(store, list, options);
}

/** A batch that was halted goes on with what has not begun, and with what the command line says of the batch. */
async function reopened(store: FleetStore, options: RunOptions): Promise<string> {
  const id = await store.find(options.resume ?? "");
  const change = changeOf(options);
  if (change.maxCost !== undefined) await assertPrices(await Array.fromAsync(store.results(id), ({ task }) => task));
  if (Object.keys(change).length > 0) await store.amend(id, change);
  const { state, counts } = await store.overview(id);
  const waits = counts.waiting + counts.queued > 0;
  if (waits && (state === "halted" || state === "budget")) await store.retry(id, { outcomes: ["failed"], keys: [] });
  return id;
}

function changeOf({ maxCost, maxTokens, retries, keepGoing }: RunOptions): BatchChange {
  return {
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(retries !== undefined && { retries }),
    ...(keepGoing && { keepGoing }),
  };
}

type Running = {
  store: FleetStore;
  id: string;
  report: BatchReport;
  options: RunOptions;
  /** Those of a new batch, of which none is settled. */
  tasks: readonly FleetTask[] | undefined;
};

/** Tells of each task once: those that this process settles at once, the others at the end. */
async function workOn({ store, id, report, options, tasks }: Running, stopper: Stopper): Promise<number> {
  const settlements = new Settlements(store, id);
  let telling = Promise.resolve();
  const note = (event: FleetEvent) => {
    if (event.type === "task.end" && !settlements.isNew(event)) return;
    telling = telling.then(() => report.event(event));
    telling.catch((error: unknown) => stopper.controller.abort(error));
  };
  // This process takes every task, so it has all labels.
  const labels = [...(tasks === undefined ? await settlements.skip() : new Set(tasks.flatMap((task) => task.labels)))];
  using _ = showing({ store, id, report });
  const { jobs = 1, keep, publishCommand, noSandbox } = options;
  const { exit } = await workOnTasks({
    store,
    batch: id,
    jobs,
    labels,
    keep,
    publishCommand,
    noSandbox,
    stopper,
    note,
  });
  await telling;
  for await (const end of settlements.fresh()) await report.event(end);
  return exit;
}

const betweenShowsMs = 1_000;

/** Keeps the line on a terminal up to date. A store that was away is not asked once for each second of that. */
function showing({ store, id, report }: Omit<Running, "options" | "tasks">): Disposable {
  const over = new AbortController();
  const show = async () => {
    while (!over.signal.aborted) {
      // The worker has the same trouble with the store, and says so.
      const overview = await store.overview(id).catch(() => undefined);
      if (overview !== undefined && !over.signal.aborted) await report.show(overview);
      await sleep(betweenShowsMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  if (report.isLive) void show();
  return { [Symbol.dispose]: () => over.abort() };
}

function exitOf(overview: BatchOverview, worked: number, { controller: { signal } }: Stopper): number {
  if (signal.aborted) return signal.reason instanceof KodaError ? exitByCode[signal.reason.code] : exitByCode.internal;
  // The machine's fault, for which tasks were given back.
  return isSettled(overview) || worked === 0 ? exitOfBatch(overview) : worked;
}

async function writeDirectory(
  store: FleetStore,
  { id, total, settings }: BatchOverview,
  { path, exit }: { path: string; exit: number },
): Promise<void> {
  const { list = { digest: id, total, shard: 1, shards: 1 } } = settings;
  using scratch = makeScratch();
  const heading = {
    koda: "batch results",
    batch: id,
    list: { digest: list.digest, total: list.total },
    shard: { index: list.shard, of: list.shards },
    tasks: total,
    exit,
  } as const;
  await writeResults(path, heading, await storedResults(store, id, scratch.path));
}
