import { closeAttempt, lockAccount, mostSpentBy } from "./account.ts";
import { grantFor, isLimited } from "./budget.ts";
import { type BatchRow, readBatch } from "./batchrow.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import type { QueuedTask, TaskQueue } from "./queue.ts";
import { first, placesFrom } from "./rows.ts";
import type { AttemptEnd, BatchState, TaskOutcome } from "../store.ts";
import { encodeFailure, readTask, type StoredTask, type TaskEnding, taskIn, type TaskRow } from "./taskrow.ts";
import { type Failures, mostLosses } from "./verdict.ts";

/** The transaction in which a task is settled. */
export type Settling = { rows: Rows; queue: TaskQueue; batch: BatchRow };

type Settlement = { outcome: TaskOutcome; failures: Failures; end?: AttemptEnd };

/** Gives a task its outcome, final unless it is retried, and starts or skips the tasks that wait for it. */
export async function settle(settling: Settling, key: string, settlement: Settlement): Promise<void> {
  const { rows, batch } = settling;
  await record(rows, batch, key, settlement);
  const { outcome } = settlement;
  // A task that has reached a limit can go on from its last checkpoint.
  if (outcome !== "limit") await forgetCheckpoints(rows, batch.id, key);
  if (outcome === "done") await releaseThoseAfter(settling, key);
  else await skipThoseAfter(rows, batch, [key]);
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
    ...(end?.result !== undefined && { result: end.result }),
    ...(end?.published !== undefined && { published: end.published }),
  };
}

export async function forgetCheckpoints(rows: Rows, batch: string, key: string): Promise<void> {
  await rows.all("DELETE FROM batch_checkpoint WHERE batch = $1 AND key = $2", [batch, key]);
}

const thoseAfter = "SELECT key FROM batch_need WHERE batch = $1 AND needed";

async function releaseThoseAfter({ rows, queue, batch }: Settling, key: string): Promise<void> {
  const released = await rows.all<{ key: string; needs: number; task: string }>(
    `UPDATE batch_task SET needs = needs - 1 WHERE batch = $1 AND state = 'waiting' AND key IN (${thoseAfter} = $2)
     RETURNING key, needs, task`,
    [batch.id, key],
  );
  const ready = released.filter(({ needs }) => needs === 0);
  if (ready.length > 0)
    await enqueue(
      { rows, queue, batch },
      ready.map((stored) => queued(stored)),
    );
}

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
  if (!resumes) await forgetCheckpoints(rows, batch.id, key);
  if (stored !== undefined) await enqueue(settling, [queued(stored, { notBefore, hasBegun: resumes })]);
}

/** In a batch that is closed they wait until it is opened again. */
export async function enqueue({ rows, queue, batch }: Settling, tasks: readonly QueuedTask[]): Promise<void> {
  for (let at = 0; at < tasks.length; at += 500) {
    const keys = tasks.slice(at, at + 500).map(({ key }) => key);
    const where = `batch = $1 AND key IN (${placesFrom(2, keys)})`;
    await rows.all(`UPDATE batch_task SET state = 'queued' WHERE ${where}`, [batch.id, ...keys]);
  }
  // Waits for whoever is closing the batch, and keeps others from it until these tasks are there to be cleared: one
  // that was left in the queue would be taken for lost when the batch goes on.
  const sql = "UPDATE batch SET finished = finished WHERE id = $1 AND state = 'open' RETURNING id";
  if ((await rows.all(sql, [batch.id])).length > 0) await queue.push(rows, batch.id, tasks, batch.settings.leaseMs);
}

type When = { notBefore?: number | undefined; hasBegun?: boolean };

export function queued(
  stored: Pick<StoredTask, "key" | "task">,
  { notBefore, hasBegun = false }: When = {},
): QueuedTask {
  const { key, group, labels } = taskIn(stored).task;
  return { key, group, labels, hasBegun, ...(notBefore !== undefined && { notBefore }) };
}

/** Also those that wait for the skipped ones, and so on. Returns how many. */
export async function skipThoseAfter(rows: Rows, batch: BatchRow, keys: readonly string[]): Promise<number> {
  let settled = keys;
  let count = 0;
  while (settled.length > 0) {
    const skipped = await rows.all<{ key: string }>(
      `UPDATE batch_task SET state = 'skipped' WHERE batch = $1 AND state = 'waiting'
         AND key IN (${thoseAfter} IN (${placesFrom(2, settled)})) RETURNING key`,
      [batch.id, ...settled],
    );
    settled = skipped.map(({ key }) => key);
    count += settled.length;
  }
  return count;
}

/**
 * A task that is running and in the queue all the same was lost by its worker. By itself, whether or not the task can
 * begin again at once: what was set aside for it may be what others wait for.
 */
export async function recordLoss(settling: Settling, { task, attempts, ...row }: TaskRow): Promise<void> {
  const { rows, batch } = settling;
  const { key } = task;
  const spent = await mostSpentBy(rows, batch.id, key, attempts);
  if (spent.isOpen)
    await closeAttempt(rows, { batch, key, attempt: attempts }, { ...lost, spent, endedAt: Date.now() });
  const failures = { ...row.failures, losses: row.failures.losses + 1 };
  if (batch.state === "cancelled") await settle(settling, key, { outcome: "cancelled", failures });
  else if (failures.losses >= mostLosses) await settle(settling, key, { outcome: "poison", failures });
  else await queueAgain(settling, key, { failures, notBefore: 0, resumes: true });
}

const lost = {
  kind: "lost",
  error: encodeFailure({ code: "worker_lost", message: "Its worker ended without a word, or was silent for too long" }),
};

/** No task of it begins any more. */
async function closeBatch({ rows, queue, batch }: Settling, state: BatchState): Promise<void> {
  const sql = "UPDATE batch SET state = $2 WHERE id = $1 AND state = 'open' RETURNING id";
  if ((await rows.all(sql, [batch.id, state])).length > 0)
    await clearQueue({ rows, queue, batch: { ...batch, state } });
}

/** Of a batch that has just been closed. What a worker has lost may be among what nobody has. */
export async function clearQueue({ rows, queue, batch }: Settling): Promise<void> {
  for (const key of await queue.clear(rows, batch.id)) {
    const row = await readTask(rows, batch.id, key);
    if (row?.state === "running") await recordLoss({ rows, queue, batch }, row);
  }
}

/** To be called when the last settlement has been committed: two at once do not see each other. */
export async function closeWhenOver(database: FleetDatabase, queue: TaskQueue, batch: string): Promise<void> {
  const over = await database.all(
    `UPDATE batch SET state = 'over' WHERE id = $1 AND state = 'open' AND NOT EXISTS (
       SELECT 1 FROM batch_task WHERE batch = $1 AND state IN ('waiting', 'queued', 'running')) RETURNING id`,
    [batch],
  );
  if (over.length > 0) await database.write((rows) => queue.close(rows, batch));
}

/**
 * Nothing is left for another task. What silent workers hold may be all that is in the way, and when nobody is left who
 * might give something back, the batch is at its end.
 */
export async function freeBudget(database: FleetDatabase, queue: TaskQueue, id: string): Promise<void> {
  await database.write(async (rows) => {
    await lockAccount(rows, id);
    const batch = await readBatch(rows, id);
    if (!isLimited(batch.settings) || batch.state !== "open") return;
    for (const { key, number: attempt } of await silentAttempts(rows, batch)) {
      const spent = await mostSpentBy(rows, id, key, attempt);
      await closeAttempt(rows, { batch, key, attempt }, { ...lost, spent, endedAt: Date.now() });
    }
    const { settings, account } = await readBatch(rows, id);
    if ((await hasOpenAttempts(rows, id)) || grantFor(settings, account, {}) !== undefined) return;
    await closeBatch({ rows, queue, batch }, "budget");
  });
}

/** The queue will find them too, but not before the tasks that wait for their money. */
async function silentAttempts(rows: Rows, { id, settings }: BatchRow): Promise<{ key: string; number: number }[]> {
  return await rows.all(
    `SELECT key, number FROM batch_attempt LEFT JOIN batch_worker ON batch_worker.id = batch_attempt.worker
     WHERE batch = $1 AND kind = 'open' AND started_at < $2 AND (seen_at IS NULL OR seen_at < $2)`,
    [id, Date.now() - 2 * settings.leaseMs],
  );
}

async function hasOpenAttempts(rows: Rows, batch: string): Promise<boolean> {
  const sql = "SELECT 1 AS found FROM batch_attempt WHERE batch = $1 AND kind = 'open' LIMIT 1";
  return (await first(rows, sql, [batch])) !== undefined;
}
