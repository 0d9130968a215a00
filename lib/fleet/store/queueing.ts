import type { BatchRow } from "./batchrow.ts";
import { deleteCheckpoints } from "./checkpoints.ts";
import type { Rows } from "./database.ts";
import type { QueuedTask, TaskQueue } from "./queue.ts";
import { allInParts, first, placesFrom } from "./rows.ts";
import type { BatchState, TaskState } from "../store.ts";
import { type StoredTask, taskIn } from "./taskrow.ts";
import type { Failures } from "./verdict.ts";

/** The transaction in which a task is settled. */
export type Settling = { rows: Rows; queue: TaskQueue; batch: BatchRow };

type Again = { failures: Failures; notBefore: number; resumes: boolean };

/** Another attempt, as soon as there is a worker for it. */
export async function queueAgain(
  settling: Settling,
  key: string,
  { failures, notBefore, resumes }: Again,
): Promise<void> {
  const { rows, batch } = settling;
  const { retries, errors, losses } = failures;
  const [stored] = await rows.all<Pick<StoredTask, "key" | "task">>(
    `UPDATE batch_task SET state = 'queued', retries = $3, errors = $4, losses = $5, resumes = $6, not_before = $7
     WHERE batch = $1 AND key = $2 RETURNING key, task`,
    [batch.id, key, retries, errors, losses, resumes ? 1 : 0, notBefore],
  );
  if (!resumes) await deleteCheckpoints(rows, batch.id, key);
  if (stored !== undefined) await enqueue(settling, [queued(stored, { notBefore, hasBegun: resumes })]);
}

/** In a batch that is closed they wait until it is opened again; in one that is cancelled they are too. */
export async function enqueue({ rows, queue, batch }: Settling, tasks: readonly QueuedTask[]): Promise<void> {
  const keys = tasks.map(({ key }) => key);
  await setState(rows, batch.id, { keys, state: "queued" });
  // Waits for whoever closes or opens the batch, and keeps others from both until these tasks are there to be seen. One
  // that was left in the queue would be taken for lost when the batch goes on, and one that is not there forgotten.
  const sql = "UPDATE batch SET finished = finished WHERE id = $1 RETURNING state";
  const state = (await first<{ state: BatchState }>(rows, sql, [batch.id]))?.state;
  if (state === "open") await queue.push(rows, batch.id, tasks, batch.settings.leaseMs);
  if (state === "cancelled") await setState(rows, batch.id, { keys, state: "cancelled" });
}

async function setState(rows: Rows, batch: string, { keys, state }: { keys: readonly string[]; state: TaskState }) {
  await allInParts(keys, (some) => {
    const where = `batch = $1 AND key IN (${placesFrom(3, some)})`;
    return rows.all(`UPDATE batch_task SET state = $2 WHERE ${where}`, [batch, state, ...some]);
  });
}

type When = { notBefore?: number | undefined; hasBegun?: boolean };

export function queued(
  stored: Pick<StoredTask, "key" | "task">,
  { notBefore, hasBegun = false }: When = {},
): QueuedTask {
  const { key, group, labels } = taskIn(stored).task;
  return { key, group, labels, hasBegun, ...(notBefore !== undefined && { notBefore }) };
}
