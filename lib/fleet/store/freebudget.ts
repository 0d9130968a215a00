import { closeLostAttempt, lockAccount } from "./account.ts";
import { type BatchRow, readBatch } from "./batchrow.ts";
import { grantFor, isLimited } from "./budget.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import type { TaskQueue } from "./queue.ts";
import { first } from "./rows.ts";
import { closeBatch } from "./settling.ts";

/**
 * Nothing is left for another task. What silent workers hold may be all that is in the way, and when nobody is left who
 * might give something back, the batch is at its end.
 */
export async function freeBudget(database: FleetDatabase, queue: TaskQueue, id: string): Promise<void> {
  await database.write(async (rows) => {
    await lockAccount(rows, id);
    const batch = await readBatch(rows, id);
    if (!isLimited(batch.settings) || batch.state !== "open") return;
    for (const { key, number: attempt } of await silentAttempts(rows, batch))
      await closeLostAttempt(rows, { batch, key, attempt });
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

/** Tasks of silent workers do not count: the queue gives them back only after those that wait for money. */
async function hasOpenAttempts(rows: Rows, batch: string): Promise<boolean> {
  const sql = "SELECT 1 AS found FROM batch_attempt WHERE batch = $1 AND kind = 'open' LIMIT 1";
  return (await first(rows, sql, [batch])) !== undefined;
}
