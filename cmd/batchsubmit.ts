import { newBatchId } from "../lib/fleet/batchid.ts";
import type { BatchSettings, FleetStore } from "../lib/fleet/store.ts";
import { readList, type SubmittedList } from "./batchlist.ts";
import { openBatchStore } from "./batchstore.ts";
import type { CommandOptions } from "./options.ts";
import { asJson, print } from "./print.ts";
import type { Stopper } from "./signals.ts";

type SubmitOptions = CommandOptions<"batch submit"> & { readonly noSandbox?: boolean };

const usualRetries = 3;
const usualLeaseMs = 60_000;

/** `koda batch submit`: prints the id of the batch, and nothing else. */
export async function submitTasks(options: SubmitOptions, stopper: Stopper): Promise<number> {
  const list = await checkedList(options, stopper.controller.signal);
  await using store = await openBatchStore(options);
  const id = await submitList(store, list, options);
  await print(options.json ? asJson({ batch: id, tasks: list.tasks.length }) : `${id}\n`);
  return 0;
}

/** The tasks, when there is nothing wrong with any of them. */
export async function checkedList(
  options: SubmitOptions,
  signal: AbortSignal,
  check?: Parameters<typeof readList>[2],
): Promise<SubmittedList> {
  const list = await readList(options, signal, check);
  const limited =
    options.maxCost === undefined ? list.tasks.filter(({ maxCost }) => maxCost !== undefined) : list.tasks;
  if (limited.length > 0) await (await import("./batchprices.ts")).assertPrices(limited);
  return list;
}

export async function submitList(store: FleetStore, list: SubmittedList, options: SubmitOptions): Promise<string> {
  const id = newBatchId();
  await store.submit(id, settingsOfBatch(options, list), list.tasks);
  return id;
}

function settingsOfBatch(options: SubmitOptions, { digest, total, shard }: SubmittedList): BatchSettings {
  const { retries = usualRetries, keepGoing, maxCost, maxTokens, transcripts = "redacted", lease } = options;
  return {
    retries,
    keepGoing,
    transcripts,
    leaseMs: lease ?? usualLeaseMs,
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
    list: { digest, total, shard: shard.index, shards: shard.of },
  };
}
