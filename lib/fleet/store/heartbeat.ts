import { visible } from "../../visible.ts";
import type { FleetDatabase } from "./database.ts";
import type { TaskQueue } from "./queue.ts";
import { first } from "./rows.ts";
import { columnsOf } from "./spending.ts";
import type { BatchState, TaskClaim, Spending, Standing, WorkerIdentity } from "../store.ts";

/** Says that a worker lives, notes what its attempts have spent, and finds those that it has lost. */
export async function recordHeartbeat(
  { database, queue }: { database: FleetDatabase; queue: TaskQueue },
  worker: WorkerIdentity,
  running: ReadonlyMap<TaskClaim, Spending>,
): Promise<ReadonlyMap<TaskClaim, Standing>> {
  await noteWorker(database, worker);
  const standings = new Map<TaskClaim, Standing>();
  const tickets = [...running.keys()].map(({ ticket }) => ticket);
  const held = await queue.keep(tickets);
  for (const [batch, claims] of Map.groupBy(running.keys(), (claim) => claim.batch)) {
    const found = await first<{ state: BatchState }>(database, "SELECT state FROM batch WHERE id = $1", [batch]);
    const standing: Standing = found?.state === "cancelled" ? "cancelled" : "held";
    for (const claim of claims) {
      const isHeld = found !== undefined && held.has(claim.ticket.job);
      if (isHeld) await noteSpending(database, claim, running.get(claim));
      standings.set(claim, isHeld ? standing : "lost");
    }
  }
  return standings;
}

/** Also why it takes no more tasks, if it does not. */
export async function noteWorker(database: FleetDatabase, worker: WorkerIdentity, left?: string): Promise<void> {
  const { id, host, pid, version } = worker;
  await database.all(
    `INSERT INTO batch_worker (id, host, pid, version, seen_at, left_because) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (id) DO UPDATE SET seen_at = $5, left_because = COALESCE($6, batch_worker.left_because)`,
    // A provider may have said it, and PostgreSQL takes no text with a zero byte.
    [id, host, pid, version, Date.now(), left === undefined ? null : visible(left)],
  );
}

async function noteSpending(
  database: FleetDatabase,
  { batch, task, attempt }: TaskClaim,
  spent: Spending | undefined,
): Promise<void> {
  if (spent === undefined || spent.tokens === 0) return;
  await database.all(
    `UPDATE batch_attempt SET cost = $4, tokens = $5, unpriced = $6
     WHERE batch = $1 AND key = $2 AND number = $3 AND kind = 'open' AND (cost <> $4 OR tokens <> $5)`,
    [batch, task.key, attempt, ...columnsOf(spent)],
  );
}
