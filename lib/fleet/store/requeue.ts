import type { Rows } from "./database.ts";
import { allInParts, placesFrom } from "./rows.ts";
import { deleteCheckpoints } from "./checkpoints.ts";
import { enqueue, queued, type Settling } from "./queueing.ts";
import { clearQueue, emptyQueue } from "./settling.ts";
import { skipDependents } from "./dependents.ts";
import type { RetryChoice } from "../store.ts";

/** Settles what no worker has, and tells the workers of the rest at their next heartbeat. Returns the sum of both. */
export async function cancelBatch({ rows, queue, batch }: Settling): Promise<number> {
  const sql = "SELECT key FROM batch_task WHERE batch = $1 AND state IN ('waiting', 'queued', 'running')";
  const unsettled = await rows.all(sql, [batch.id]);
  await rows.all("UPDATE batch SET state = 'cancelled' WHERE id = $1 AND state <> 'over'", [batch.id]);
  await clearQueue({ rows, queue, batch: { ...batch, state: "cancelled" } });
  const cancelled = "UPDATE batch_task SET state = 'cancelled' WHERE batch = $1 AND state IN ('waiting', 'queued')";
  await rows.all(cancelled, [batch.id]);
  return unsettled.length;
}

type RetriedTask = { key: string; state: string };

/** Queues settled tasks again, those that were skipped for their sake, and those that a closed batch has not begun. */
export async function retryTasks(settling: Settling, { outcomes, keys }: RetryChoice): Promise<number> {
  const { rows, queue, batch } = settling;
  if (batch.state !== "open") {
    await queue.open(rows, batch.id, batch.settings.leaseMs);
    // A task that a worker was about to take when the batch was closed is there still, and would be there twice.
    await emptyQueue(settling);
  }
  const again = await rows.all<RetriedTask>(
    `SELECT key, state FROM batch_task WHERE batch = $1 AND state IN (${placesFrom(2, outcomes)})`,
    [batch.id, ...outcomes],
  );
  const named = again.filter(({ key }) => keys === undefined || keys.includes(key));
  const chosen = [...named, ...(await skippedAfter(rows, batch.id, named))];
  for (const { key, state } of chosen) {
    const resumes = state === "limit" ? 1 : 0;
    if (resumes === 0) await deleteCheckpoints(rows, batch.id, key);
    await rows.all(
      `UPDATE batch_task SET state = 'waiting', retries = 0, errors = 0, losses = 0, resumes = $3, ending = NULL,
         patch = NULL, duration_ms = NULL, not_before = NULL WHERE batch = $1 AND key = $2`,
      [batch.id, key, resumes],
    );
  }
  if (chosen.length === 0 && batch.state === "open") return 0;
  return chosen.length - (await reopen(settling));
}

/** Those that were skipped because of the chosen ones, those because of these, and so on. */
async function skippedAfter(rows: Rows, batch: string, chosen: readonly RetriedTask[]): Promise<RetriedTask[]> {
  const found = new Map<string, RetriedTask>();
  for (let last = chosen; last.length > 0;) {
    const keys = last.map(({ key }) => key);
    const next = await allInParts(keys, (some) =>
      rows.all<RetriedTask>(
        `SELECT key, state FROM batch_task WHERE batch = $1 AND state = 'skipped' AND key IN (
           SELECT key FROM batch_need WHERE batch = $1 AND needed IN (${placesFrom(2, some)}))`,
        [batch, ...some],
      ),
    );
    last = next.filter(({ key }) => !found.has(key));
    for (const each of last) found.set(each.key, each);
  }
  for (const { key } of chosen) found.delete(key);
  return [...found.values()];
}

/** Everything that is not settled goes on, but for what waits in vain: returns how many these are. */
async function reopen(settling: Settling): Promise<number> {
  const { rows, batch } = settling;
  await rows.all("UPDATE batch SET state = 'open' WHERE id = $1", [batch.id]);
  // Those that are queued in an open batch are in the queue already; in a closed one nothing is.
  const states = batch.state === "open" ? "'waiting'" : "'waiting', 'queued'";
  // One that had begun waits as well, for what is done once more.
  const wait = `UPDATE batch_task SET state = 'waiting', needs = 0 WHERE batch = $1 AND state IN (${states})`;
  await rows.all(wait, [batch.id]);
  // All are counted together: nothing finds the needs of a single task without looking at those of the others.
  await rows.all(
    `UPDATE batch_task SET needs = counted.needs FROM (
       SELECT batch_need.key AS key, count(*) AS needs FROM batch_need JOIN batch_task AS other
         ON other.batch = batch_need.batch AND other.key = batch_need.needed
       WHERE batch_need.batch = $1 AND other.state <> 'done' GROUP BY batch_need.key) AS counted
     WHERE batch_task.batch = $1 AND batch_task.key = counted.key AND state = 'waiting'`,
    [batch.id],
  );
  const skipped = await skipDependents(rows, batch, await keysNotDone(rows, batch.id));
  const ready = await rows.all<{ key: string; task: string; not_before: number | null; resumes: number }>(
    `SELECT key, task, not_before, resumes FROM batch_task WHERE batch = $1 AND state = 'waiting' AND needs = 0 ORDER BY position`,
    [batch.id],
  );
  await enqueue(
    settling,
    ready.map(({ not_before: notBefore, resumes, ...stored }) =>
      queued(stored, { notBefore: notBefore ?? undefined, hasBegun: resumes === 1 }),
    ),
  );
  return skipped;
}

async function keysNotDone(rows: Rows, batch: string): Promise<string[]> {
  const settled = await rows.all<{ key: string }>(
    `SELECT key FROM batch_task WHERE batch = $1 AND state NOT IN ('waiting', 'queued', 'running', 'done')
       AND key IN (SELECT needed FROM batch_need WHERE batch = $1)`,
    [batch],
  );
  return settled.map(({ key }) => key);
}
