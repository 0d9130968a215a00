import { z } from "zod";
import type { FleetDatabase, Rows } from "../store/database.ts";

const keptMs = 24 * 60 * 60 * 1000;

/** One of the queues of a batch, with the labels that its tasks need. */
export type LabelledQueue = { name: string; labels: readonly string[] };

const labelsSchema = z.array(z.string());

/** Those that need most labels first: not every worker has them. */
export async function queuesOf(rows: Rows, batch: string): Promise<LabelledQueue[]> {
  const sql = "SELECT name, labels FROM batch_queue WHERE batch = $1";
  const stored = await rows.all<{ name: string; labels: string }>(sql, [batch]);
  const queues = stored.map(({ name, labels }) => ({ name, labels: labelsSchema.parse(JSON.parse(labels)) }));
  return queues.sort((a, b) => b.labels.length - a.labels.length);
}

export function suitable(queues: readonly LabelledQueue[], labels: readonly string[]): LabelledQueue[] {
  return queues.filter((queue) => queue.labels.every((label) => labels.includes(label)));
}

/** False when there was one already. */
export async function addQueue(rows: Rows, batch: string, { name, labels }: LabelledQueue): Promise<boolean> {
  const added = await rows.all(
    "INSERT INTO batch_queue (batch, name, labels) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING name",
    [batch, name, JSON.stringify(labels)],
  );
  return added.length > 0;
}

export async function closeQueues(rows: Rows, batch: string): Promise<void> {
  await rows.all("UPDATE batch_queue SET closed_at = $2 WHERE batch = $1 AND closed_at IS NULL", [batch, Date.now()]);
}

/** Waits until they are not being deleted. */
export async function reopenQueues(rows: Rows, batch: string): Promise<void> {
  await lockQueues(rows, batch);
  await rows.all("UPDATE batch_queue SET closed_at = NULL WHERE batch = $1", [batch]);
}

/** Every pass of pg-boss looks at every queue, so those of batches that have long been over are deleted. */
export async function deleteOldQueues(
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

async function lockQueues(rows: Rows, batch: string): Promise<void> {
  await rows.all("SELECT pg_advisory_xact_lock(hashtextextended($1, 1802462305))", [batch]);
}
