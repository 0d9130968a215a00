import { formatAge, formatDuration } from "../lib/config/units.ts";
import { counted, withCommas } from "../lib/counted.ts";
import { KodaError } from "../lib/errors.ts";
import type { BatchOverview } from "../lib/fleet/store/overview.ts";
import type { TaskOutcome } from "../lib/fleet/store.ts";
import { visibleLine } from "../lib/visible.ts";
import { costWords, countsLine, overviewJson, overviewLines } from "./batchfigures.ts";
import { openExistingBatches, storeName, storeWords } from "./batchstore.ts";
import { openNote, printNote } from "./note.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import { tableOf } from "./table.ts";

/** `koda batch status`: all batches, or one. */
export async function batchStatus(options: CommandOptions<"batch status">): Promise<number> {
  await using store = await openExistingBatches(options);
  if (options.id !== undefined) {
    const overview = await store.overview(await store.find(options.id));
    const lines = overviewLines(overview, { now: Date.now(), store: storeWords(options) }).map(
      (line) => `${visibleLine(line)}\n`,
    );
    await print(options.json ? asJson(overviewJson(overview)) : lines.join(""));
    return 0;
  }
  const batches = await store.batches(openNote());
  await print(options.json ? asJson(batches.map(overviewJson)) : batchTable(batches));
  if (batches.length === 0) await printNote(`No batches in ${storeName(options)}`);
  return 0;
}

function batchTable(batches: readonly BatchOverview[]): string {
  if (batches.length === 0) return "";
  const rows = batches.map((batch) => [
    batch.id,
    formatAge(Date.now() - batch.submittedAt),
    visibleLine(batch.state),
    withCommas(batch.total),
    costWords(batch.spent),
    countsLine(batch),
  ]);
  return tableOf([["ID", "AGE", "STATE", "TASKS", "COST", "OUTCOMES"], ...rows]);
}

export async function cancelTasks(options: CommandOptions<"batch cancel">): Promise<number> {
  await using store = await openExistingBatches(options);
  const id = await store.find(options.id);
  const tasks = await store.cancel(id);
  const { counts, settings } = await store.overview(id);
  const soon = formatDuration(Math.ceil(settings.leaseMs / 3_000) * 1000);
  const rest =
    counts.running === 0 ? "" : `; ${withCommas(counts.running)} still running, which will stop within ${soon}`;
  const text = `Cancelled ${counted(tasks - counts.running, "task")} of ${id}${rest}\n`;
  await print(options.json ? asJson({ batch: id, cancelled: tasks }) : text);
  return 0;
}

const usuallyRetried: readonly TaskOutcome[] = ["poison", "failed", "cancelled", "skipped"];
const settled: readonly TaskOutcome[] = ["done", "limit", ...usuallyRetried];

export async function retryBatch(options: CommandOptions<"batch retry">): Promise<number> {
  await using store = await openExistingBatches(options);
  const id = await store.find(options.id);
  const { keys, failed, limits } = options;
  if (keys.length > 0) await assertTasks(store.results(id), id, keys);
  const chosen: TaskOutcome[] = [...(failed ? ["failed" as const] : []), ...(limits ? ["limit" as const] : [])];
  const usual = keys.length > 0 ? settled : usuallyRetried;
  const outcomes = chosen.length > 0 ? chosen : usual;
  const tasks = await store.retry(id, { outcomes, ...(keys.length > 0 && { keys }) });
  const next = `koda batch run --resume ${id}${storeWords(options)}`;
  const { counts } = await store.overview(id);
  const waits = counts.queued + counts.waiting;
  const hint = waits === 0 ? "" : `; ${counted(waits, "task")} to do: ${next}`;
  const text = `Queued ${counted(tasks, "task")} of ${id} again${hint}\n`;
  await print(options.json ? asJson({ batch: id, queued: tasks }) : text);
  return 0;
}

async function assertTasks(
  results: AsyncIterable<{ key: string }>,
  batch: string,
  keys: readonly string[],
): Promise<void> {
  const left = new Set(keys);
  for await (const { key } of results) left.delete(key);
  const [missing] = left;
  if (missing !== undefined)
    throw new KodaError("usage", `Batch ${batch} has no task "${missing}": koda batch results ${batch}`);
}
