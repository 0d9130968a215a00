import { closeLostAttempt, lockAccount } from "./account.ts";
import type { BatchRow } from "./batchrow.ts";
import { deleteCheckpoints } from "./checkpoints.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import type { TaskQueue } from "./queue.ts";
import { queueAgain, type Settling } from "./queueing.ts";
import { first } from "./rows.ts";
import type { AttemptEnd, BatchState, TaskOutcome } from "../store.ts";
import { readTask, type TaskEnding, type TaskRow } from "./taskrow.ts";
import { type Failures, mostLosses } from "./verdict.ts";
import { lockDependents, releaseDependents, skipDependents } from "./dependents.ts";

type Settlement = { outcome: TaskOutcome; failures: Failures; end?: AttemptEnd };

/** Gives a task its outcome, final unless it is retried, and starts or skips the tasks that wait for it. */
export async function settle(settling: Settling, key: string, settlement: Settlement): Promise<void> {
  const { rows, batch } = settling;
  await record(rows, batch, key, settlement);
  const { outcome } = settlement;
  // A task that has reached a limit can go on from its last checkpoint.
  if (outcome !== "limit") await deleteCheckpoints(rows, batch.id, key);
  await lockDependents(settling, key);
  if (outcome === "done") await releaseDependents(settling, key);
  else await skipDependents(rows, batch, [key]);
  if (outcome === "failed" && !batch.settings.keepGoing) await closeBatch(settling, "halted");
  if (outcome === "limit" && settlement.end?.kind === "budget") await closeBatch(settling, "budget");
}

async function record(rows: Rows, batch: BatchRow, key: string, { outcome, failures, end }: Settlement): Promise<void> {
  const { retries, errors, losses } = failures;
  await rows.all(
    `UPDATE batch_task SET state = $3, retries = $4, errors = $5, losses = $6, duration_ms = $7, ending = $8,
       patch = $9, resumes = $10, not_before = NULL
     WHERE batch = $1 AND key = $2`,
    [
      batch.id,
      key,
      outcome,
      retries,
      errors,
      losses,
      end?.durationMs ?? null,
      JSON.stringify(endingOf(end)),
      // No file is changed by an empty one, and git apply refuses it.
      (end?.patch?.length ?? 0) > 0 ? (end?.patch ?? null) : null,
      outcome === "limit" ? 1 : 0,
    ],
  );
}

function endingOf(end: AttemptEnd | undefined): TaskEnding {
  return {
    ...(end?.session !== undefined && { session: end.session }),
    ...(end?.model !== undefined && { model: end.model }),
    ...(end?.result !== undefined && { result: end.result }),
    ...(end?.published !== undefined && { published: end.published }),
  };
}

/**
 * A task that is running and in the queue all the same was lost by its worker. By itself, whether or not the task can
 * begin again at once: what was set aside for it may be what others wait for.
 */
export async function recordLoss(settling: Settling, { task, attempts, ...row }: TaskRow): Promise<void> {
  const { rows, batch } = settling;
  const { key } = task;
  await closeLostAttempt(rows, { batch, key, attempt: attempts });
  const failures = { ...row.failures, losses: row.failures.losses + 1 };
  if (batch.state === "cancelled") await settle(settling, key, { outcome: "cancelled", failures });
  else if (failures.losses >= mostLosses) await settle(settling, key, { outcome: "poison", failures });
  else await queueAgain(settling, key, { failures, notBefore: 0, resumes: true });
}

/** No task of it begins any more. */
export async function closeBatch({ rows, queue, batch }: Settling, state: BatchState): Promise<void> {
  const sql = "UPDATE batch SET state = $2 WHERE id = $1 AND state = 'open' RETURNING id";
  if ((await rows.all(sql, [batch.id, state])).length > 0)
    await clearQueue({ rows, queue, batch: { ...batch, state } });
}

/** Of a batch that has just been closed. */
export async function clearQueue(settling: Settling): Promise<void> {
  await emptyQueue(settling);
  await settling.queue.close(settling.rows, settling.batch.id);
}

/** Of a batch that is closed. What a worker has lost may be among what nobody has. */
export async function emptyQueue({ rows, queue, batch }: Settling): Promise<void> {
  for (const key of await queue.clear(rows, batch.id)) {
    const row = await readTask(rows, batch.id, key);
    if (row?.state === "running") await recordLoss({ rows, queue, batch }, row);
  }
}

const isOver = `id = $1 AND state = 'open' AND NOT EXISTS (
  SELECT 1 FROM batch_task WHERE batch = $1 AND state IN ('waiting', 'queued', 'running'))`;

/** To be called when the last settlement has been committed: two at once do not see each other. */
export async function closeWhenOver(database: FleetDatabase, queue: TaskQueue, batch: string): Promise<void> {
  if ((await first(database, `SELECT 1 AS found FROM batch WHERE ${isOver}`, [batch])) === undefined) return;
  await database.write(async (rows) => {
    // Not before: a retry that is under way commits its tasks first, and then they are seen.
    await lockAccount(rows, batch);
    const over = await rows.all(`UPDATE batch SET state = 'over' WHERE ${isOver} RETURNING id`, [batch]);
    if (over.length > 0) await queue.close(rows, batch);
  });
}
