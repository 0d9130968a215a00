import type { FleetDatabase, Rows } from "./database.ts";
import { first } from "./rows.ts";
import type { Checkpoint, TaskClaim } from "../store.ts";

/** False when the attempt is not the task's any more. */
export async function addCheckpoint(
  rows: Rows,
  { batch, task, attempt }: TaskClaim,
  { version, from, items, patch }: Checkpoint,
): Promise<boolean> {
  const sql = "SELECT CAST(count(*) AS INTEGER) AS n FROM batch_checkpoint WHERE batch = $1 AND key = $2";
  const part = (await first<{ n: number }>(rows, sql, [batch, task.key]))?.n ?? 0;
  await rows.all(
    `INSERT INTO batch_checkpoint (batch, key, attempt, part, version, place, items, patch)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [batch, task.key, attempt, part, version, from, items, patch],
  );
  // Not before: heartbeats would wait for what may be large. Whoever takes the attempt for lost waits for this.
  const open = await rows.all(
    `UPDATE batch_attempt SET kind = kind WHERE batch = $1 AND key = $2 AND number = $3 AND kind = 'open' RETURNING key`,
    [batch, task.key, attempt],
  );
  if (open.length === 0) {
    const late = "DELETE FROM batch_checkpoint WHERE batch = $1 AND key = $2 AND attempt = $3 AND part = $4";
    await rows.all(late, [batch, task.key, attempt, part]);
    return false;
  }
  // Each patch is against the same state of the tree, so the newest one is enough.
  const older = "UPDATE batch_checkpoint SET patch = $4 WHERE batch = $1 AND key = $2 AND part < $3";
  await rows.all(older, [batch, task.key, part, new Uint8Array()]);
  return true;
}

export async function readCheckpoints(database: FleetDatabase, { batch, task }: TaskClaim): Promise<Checkpoint[]> {
  const stored = await database.all<Omit<Checkpoint, "from"> & { place: number }>(
    "SELECT version, place, items, patch FROM batch_checkpoint WHERE batch = $1 AND key = $2 ORDER BY part",
    [batch, task.key],
  );
  return stored.map(({ place, ...checkpoint }) => ({ ...checkpoint, from: place }));
}

export async function deleteCheckpoints(rows: Rows, batch: string, key: string): Promise<void> {
  await rows.all("DELETE FROM batch_checkpoint WHERE batch = $1 AND key = $2", [batch, key]);
}
