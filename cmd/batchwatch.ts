import { setTimeout as sleep } from "node:timers/promises";
import type { FleetStore } from "../lib/fleet/store.ts";
import { exitOfBatch, isSettled } from "./batchfigures.ts";
import { Settlements } from "./batchsettlements.ts";
import { openExistingBatches } from "./batchstore.ts";
import { BatchReport, batchEnd } from "./batchreport.ts";
import { summaryLines } from "./batchsummary.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";

type WatchOptions = CommandOptions<"batch watch">;

/** `koda batch watch`: a batch until it is over, and the exit code that its run would have. */
export async function watchBatch(options: WatchOptions, stopper: Stopper): Promise<number> {
  const { signal } = stopper.controller;
  await using store = await openExistingBatches(options);
  const id = await store.find(options.id);
  const report = await BatchReport.open({ json: options.json, pipe: "json" }, stopper.controller);
  try {
    return await follow({ store, id, report, signal, options });
  } finally {
    await report.finish();
  }
}

type Watching = { store: FleetStore; id: string; report: BatchReport; signal: AbortSignal; options: WatchOptions };

async function follow({ store, id, report, signal, options }: Watching): Promise<number> {
  const settlements = new Settlements(store, id);
  let seen = "";
  for (let pauseMs = leastPauseMs; ; await pause(pauseMs, signal)) {
    const startedAt = performance.now();
    const overview = await store.overview(id);
    if (seen === "") await report.event({ type: "batch.start", batch: id, total: overview.total });
    const counts = JSON.stringify([overview.counts, overview.submittedAt]);
    // A person sees the sums, and what goes wrong from now on.
    if (seen === "" && report.isForPeople) await settlements.skip();
    // The sums may be as before although a task has been retried meanwhile.
    if (counts !== seen || isSettled(overview))
      for await (const end of settlements.fresh())
        if (!report.isForPeople || end.outcome !== "done") await report.event(end);
    seen = counts;
    // A large batch takes long to read, and must not be read all the time. So does one whose database was away.
    pauseMs = Math.min(Math.max(leastPauseMs, 10 * (performance.now() - startedAt)), mostPauseMs);
    if (isSettled(overview)) {
      const exit = exitOfBatch(overview);
      await report.event(batchEnd(overview, exit));
      if (report.isForPeople) await report.lines(await summaryLines(store, overview, options));
      await report.finish();
      signal.throwIfAborted();
      return exit;
    }
    await report.show(overview);
  }
}

const leastPauseMs = 500;
const mostPauseMs = 10_000;

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
