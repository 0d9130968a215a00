import type { FleetDatabase, Rows } from "./database.ts";

const keptMs = 24 * 60 * 60 * 1000;

/** Whoever opens a batch again waits until its queues are not being deleted. */
export async function lockQueues(rows: Rows, batch: string): Promise<void> {
  await rows.all("SELECT pg_advisory_xact_lock(hashtextextended($1, 1802462305))", [batch]);
}

/** Every pass of pg-boss looks at every queue, so those of batches that have long been over are deleted. */
export async function forgetOldQueues(
  database: FleetDatabase,
  deleteQueue: (name: string) => Promise<void>,
): Promise<void> {
  const before = Date.now() - keptMs;
  await database.all("DELETE FROM batch_commit WHERE at < $1", [before]);
  const sql = "SELECT DISTINCT batch FROM batch_queue WHERE closed_at < $1";
  for (const { batch } of await database.all<{ batch: string }>(sql, [before]))
    await database.write(async (rows) => {
      await lockQueues(rows, batch);
      const where = "batch = $1 AND closed_at < $2";
      const old = await rows.all<{ name: string }>(`SELECT name FROM batch_queue WHERE ${where}`, [batch, before]);
      for (const { name } of old) await deleteQueue(name);
      await rows.all(`DELETE FROM batch_queue WHERE ${where}`, [batch, before]);
    });
}
