import { closeAttempt, lockAccount, mostSpentBy, reserveGrant } from "./account.ts";
import { type BatchRow, readBatch } from "./batchrow.ts";
import { isLimited } from "./budget.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import { closeWhenSpent, settle } from "./settling.ts";
import type { Taken, TaskQueue } from "./queue.ts";
import type { TaskClaim, Spending, WorkerIdentity } from "./store.ts";
import { readTask, type TaskRow } from "./taskrow.ts";
import { type Failures, mostLosses } from "./verdict.ts";

type Claiming = { database: FleetDatabase; queue: TaskQueue; worker: WorkerIdentity; paused: readonly string[] };

/** What one look at the queue has come to: a task, one that turned out to be settled, or nothing. */
type Look = TaskClaim | "settled" | undefined;

/** Undoes the look: what was taken is in the queue again, untouched. */
class NotNow extends Error {}

/** The next task of a batch for this worker. Undefined when there is none that may begin now. */
export async function claimFrom(claiming: Claiming, batch: BatchRow): Promise<TaskClaim | undefined> {
  for (;;) {
    const look = await lookOnce(claiming, batch);
    if (look !== "settled") return look;
  }
}

async function lookOnce({ database, queue, worker, paused }: Claiming, found: BatchRow): Promise<Look> {
  try {
    return await database.write(async (rows) => {
      if (isLimited(found.settings)) await lockAccount(rows, found.id);
      const batch = isLimited(found.settings) ? await readBatch(rows, found.id) : found;
      const taken = await queue.take(rows, batch.id, worker, paused);
      if (taken === undefined) return undefined;
      const row = await readTask(rows, batch.id, taken.key);
      if (row === undefined || (row.state !== "queued" && row.state !== "running")) throw new NotNow();
      const failures = await countLoss(rows, batch, row);
      if (failures.losses < mostLosses) return await begin({ rows, batch, worker }, { taken, row, failures });
      await queue.complete(rows, batch.id, taken.ticket);
      await settle({ rows, queue, batch }, row.task.key, { outcome: "poison", failures });
      return "settled";
    });
  } catch (error) {
    if (!(error instanceof NotNow)) throw error;
    await closeWhenSpent(database, queue, found.id);
    return undefined;
  }
}

/** A task that is running and in the queue all the same was lost by its worker. */
async function countLoss(rows: Rows, batch: BatchRow, { state, task: { key }, attempts, failures }: TaskRow) {
  if (state !== "running") return failures;
  const spent = await mostSpentBy(rows, batch.id, key, attempts);
  if (spent.isOpen)
    await closeAttempt(rows, { batch, key, attempt: attempts }, { kind: "lost", spent, endedAt: Date.now() });
  return { ...failures, losses: failures.losses + 1 };
}

type Beginning = { taken: Taken; row: TaskRow; failures: Failures };

async function begin(
  { rows, batch, worker }: { rows: Rows; batch: BatchRow; worker: WorkerIdentity },
  { taken, row, failures }: Beginning,
): Promise<TaskClaim> {
  const { task } = row;
  const attempt = row.attempts + 1;
  const grant = await reserveGrant(rows, batch, task);
  if (grant === undefined) throw new NotNow();
  const changed = await rows.all(
    `UPDATE batch_task SET state = 'running', attempts = $3, losses = $4
     WHERE batch = $1 AND key = $2 AND state IN ('queued', 'running') RETURNING key`,
    [batch.id, task.key, attempt, failures.losses],
  );
  // Cancelled while it was being taken.
  if (changed.length === 0) throw new NotNow();
  await insertAttempt(rows, { batch, task, attempt, worker, grant });
  const resumes = row.resumes || row.state === "running";
  return { batch: batch.id, task, attempt, settings: batch.settings, resumes, grant, ticket: taken.ticket };
}

type NewAttempt = {
  batch: BatchRow;
  task: TaskRow["task"];
  attempt: number;
  worker: WorkerIdentity;
  grant: Partial<Spending>;
};

async function insertAttempt(rows: Rows, { batch, task, attempt, worker, grant }: NewAttempt): Promise<void> {
  await rows.all(
    `INSERT INTO batch_attempt
       (batch, key, number, worker, host, started_at, kind, cost, tokens, reserved_cost, reserved_tokens)
     VALUES ($1, $2, $3, $4, $5, $6, 'open', 0, 0, $7, $8)`,
    [batch.id, task.key, attempt, worker.id, worker.host, Date.now(), grant.costUsd ?? 0, grant.tokens ?? 0],
  );
}
