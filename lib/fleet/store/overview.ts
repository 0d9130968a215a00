import type { BatchRow } from "./batchrow.ts";
import type { Rows } from "./database.ts";
import { pausedGroups } from "./ending.ts";
import { first } from "./rows.ts";
import { taskIn } from "./taskrow.ts";
import { decodeSpending, type StoredSpending, sumsOfSpending } from "./spending.ts";
import { type BatchSettings, type BatchState, type Spending, type TaskState, taskStates } from "../store.ts";

/** A batch at one moment. The counts always add up to `total`. */
export type BatchOverview = {
  id: string;
  submittedAt: number;
  settings: BatchSettings;
  total: number;
  counts: Readonly<Record<TaskState, number>>;
  state: BatchState;
  spent: Spending;
  /** Set aside for attempts that are running. */
  reserved: Spending;
  workers: readonly WorkerOverview[];
  /** Groups that wait for their provider. */
  paused: readonly { group: string; until: number }[];
  /** A worker that has them can take the next tasks; known while none is running. */
  labels: readonly string[];
};

type WorkerOverview = {
  id: string;
  host: string;
  pid: number;
  running: readonly string[];
  seenAt: number;
  /** Why it claims nothing any more. */
  left?: string;
};

export async function readOverview(rows: Rows, batch: BatchRow): Promise<BatchOverview> {
  const { id, submittedAt, settings, total } = batch;
  const counts = await readCounts(rows, id);
  const isOver = counts.waiting + counts.queued + counts.running === 0;
  return {
    id,
    submittedAt,
    settings,
    total,
    counts,
    state: batch.state === "open" && isOver ? "over" : batch.state,
    ...(await readSpending(rows, id)),
    workers: await readWorkers(rows, id),
    paused: counts.queued > 0 ? await pausedGroups(rows) : [],
    labels: batch.state === "open" && counts.running === 0 && counts.queued > 0 ? await nextLabels(rows, id) : [],
  };
}

/** Of so many tasks: a batch may have more than are read in a moment. */
const mostRead = 200;

async function nextLabels(rows: Rows, batch: string): Promise<string[]> {
  const stored = await rows.all<{ key: string; task: string }>(
    `SELECT key, task FROM batch_task WHERE batch = $1 AND state = 'queued' ORDER BY position LIMIT ${mostRead}`,
    [batch],
  );
  return [...new Set(stored.flatMap((each) => taskIn(each).task.labels))].sort();
}

async function readCounts(rows: Rows, batch: string): Promise<Record<TaskState, number>> {
  const found = await rows.all<{ state: TaskState; n: number }>(
    "SELECT state, CAST(count(*) AS INTEGER) AS n FROM batch_task WHERE batch = $1 GROUP BY state",
    [batch],
  );
  const none = Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<TaskState, number>;
  return { ...none, ...Object.fromEntries(found.map(({ state, n }) => [state, n])) };
}

/** Money that open attempts have reserved counts only as far as they have not spent it. */
async function readSpending(rows: Rows, batch: string): Promise<Pick<BatchOverview, "spent" | "reserved">> {
  const sums = await first<StoredSpending & { reserved_cost: number; reserved_tokens: number }>(
    rows,
    `SELECT ${sumsOfSpending},
       COALESCE(SUM(CASE WHEN reserved_cost > cost THEN reserved_cost - cost ELSE 0 END), 0) AS reserved_cost,
       COALESCE(SUM(CASE WHEN reserved_tokens > tokens THEN reserved_tokens - tokens ELSE 0 END), 0) AS reserved_tokens
     FROM batch_attempt WHERE batch = $1`,
    [batch],
  );
  return {
    spent: decodeSpending(sums ?? { cost: 0, tokens: 0, unpriced: 0 }),
    reserved: { costUsd: sums?.reserved_cost ?? 0, tokens: sums?.reserved_tokens ?? 0 },
  };
}

type StoredWorker = { id: string; host: string; pid: number; seen_at: number; left_because: string | null };

/** Those that have a task of the batch, and those that had one and have left. */
async function readWorkers(rows: Rows, batch: string): Promise<WorkerOverview[]> {
  const running = await rows.all<{ worker: string; key: string }>(
    "SELECT worker, key FROM batch_attempt WHERE batch = $1 AND kind = 'open' ORDER BY worker, key",
    [batch],
  );
  const keys = Map.groupBy(running, ({ worker }) => worker);
  const workers = await rows.all<StoredWorker>(
    `SELECT id, host, pid, seen_at, left_because FROM batch_worker
     WHERE id IN (SELECT worker FROM batch_attempt WHERE batch = $1) ORDER BY host, pid`,
    [batch],
  );
  return workers
    .filter(({ id, left_because: why }) => keys.has(id) || why !== null)
    .map(({ id, host, pid, seen_at: seenAt, left_because: why }) => ({
      id,
      host,
      pid,
      seenAt,
      running: keys.get(id)?.map(({ key }) => key) ?? [],
      ...(why !== null && { left: why }),
    }));
}
