import type {
  AttemptEnd,
  BatchSettings,
  FleetStore,
  Idle,
  TaskClaim,
  TaskResult,
  WorkerIdentity,
} from "../../lib/fleet/store.ts";
import type { FleetTask } from "../../lib/fleet/task.ts";

export async function resultsOf(store: FleetStore, batch: string): Promise<TaskResult[]> {
  return await Array.fromAsync(store.results(batch));
}

export const defaults: BatchSettings = { retries: 3, keepGoing: false, transcripts: "redacted", leaseMs: 30_000 };

let batches = 0;

/** In the order of their making, as those of koda are. */
export const newBatchId = () => `b${String(batches++).padStart(4, "0")}${crypto.randomUUID().slice(0, 6)}`;

export function task(key: string, fields: Partial<FleetTask> = {}): FleetTask {
  return { key, prompt: `do ${key}`, args: [], after: [], group: "default", labels: [], ...fields };
}

/** A worker whose process is this one, so that it never looks dead. */
export function worker(labels: readonly string[] = []): WorkerIdentity {
  const id = crypto.randomUUID();
  return { id, pid: process.pid, started: "", host: "here", machine: "", version: "1", labels };
}

export function exit(code: number, costUsd = 0): AttemptEnd {
  return { exit: code, kind: "exit", spent: { costUsd, tokens: costUsd * 100 }, durationMs: 1 };
}

export function isClaim(found: TaskClaim | Idle): found is TaskClaim {
  return "task" in found;
}
