import type { BatchRow } from "./batchrow.ts";
import type { Rows } from "./database.ts";
import { enqueue, queued, type Settling } from "./queueing.ts";
import { allInParts, placesFrom } from "./rows.ts";

const dependentsOf = "SELECT key FROM batch_need WHERE batch = $1 AND needed";

/** A retry counts what each task waits for: it has to be over, or to begin when this task is seen to be settled. */
export async function lockDependents({ rows, batch }: Settling, key: string): Promise<void> {
  const lock = `UPDATE batch SET finished = finished WHERE id = $1 AND EXISTS (${dependentsOf} = $2)`;
  await rows.all(lock, [batch.id, key]);
}

/** Starts the tasks that wait for this one alone. */
export async function releaseDependents({ rows, queue, batch }: Settling, key: string): Promise<void> {
  const released = await rows.all<{ key: string; needs: number; task: string }>(
    `UPDATE batch_task SET needs = needs - 1 WHERE batch = $1 AND state = 'waiting' AND key IN (${dependentsOf} = $2)
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

/** Also those that wait for the skipped ones, and so on. Returns how many. */
export async function skipDependents(rows: Rows, batch: BatchRow, keys: readonly string[]): Promise<number> {
  let settled = keys;
  let count = 0;
  while (settled.length > 0) {
    const skipped = await allInParts(settled, (some) =>
      rows.all<{ key: string }>(
        `UPDATE batch_task SET state = 'skipped' WHERE batch = $1 AND state = 'waiting'
           AND key IN (${dependentsOf} IN (${placesFrom(2, some)})) RETURNING key`,
        [batch.id, ...some],
      ),
    );
    settled = skipped.map(({ key }) => key);
    count += settled.length;
  }
  return count;
}
