import { closeAttempt, lockAccount, reserveGrant } from "./account.ts";
import { type BatchRow, readBatch } from "./batchrow.ts";
import { isLimited } from "./budget.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import { freeBudget } from "./freebudget.ts";
import type { Settling } from "./queueing.ts";
import { emptyQueue, recordLoss, settle } from "./settling.ts";
import type { Taken, TaskQueue } from "./queue.ts";
import type { TaskClaim, Spending, WorkerIdentity } from "../store.ts";
import { encodeFailure, readTask, type TaskRow } from "./taskrow.ts";

type Claiming = { database: FleetDatabase; queue: TaskQueue; worker: WorkerIdentity; paused: readonly string[] };

/** The result of one look at the queue: a task, one that had to be put in order first, or nothing. */
type Look = TaskClaim | "again" | undefined;

/** Undoes the look: what was taken is in the queue again, untouched. */
class NotNow extends Error {}

/** The next task of a batch for this worker. Undefined when there is none that may begin now. */
export async function claimFrom(claiming: Claiming, batch: BatchRow): Promise<TaskClaim | undefined> {
  if (batch.state !== "open") await emptyClosed(claiming, batch.id);
  for (;;) {
    const look = await lookOnce(claiming, batch);
    if (look !== "again") return look;
  }
}

/** A worker without the labels of a lost task cannot take it, but what is closed needs nobody to carry it out. */
async function emptyClosed({ database, queue }: Claiming, id: string): Promise<void> {
  await database.write(async (rows) => {
    await lockAccount(rows, id);
    const batch = await readBatch(rows, id);
    if (batch.state !== "open") await emptyQueue({ rows, queue, batch });
  });
}

async function lookOnce({ database, queue, worker, paused }: Claiming, found: BatchRow): Promise<Look> {
  try {
    return await database.write(async (rows) => {
      if (isLimited(found.settings)) await lockAccount(rows, found.id);
      const taken = await queue.take(rows, found.id, worker, paused);
      if (taken === undefined) return undefined;
      // Not before: a task that is in the queue since the batch goes on must not be taken for one of a closed batch.
      const batch = await readBatch(rows, found.id);
      // Its budget came meanwhile, for which attempts wait for each other.
      if (isLimited(batch.settings) && !isLimited(found.settings)) throw new NotNow();
      const row = await readTask(rows, batch.id, taken.key);
      const isNext = row?.state === "queued" && batch.state === "open";
      if (isNext && row.problem === undefined) {
        const claim = await begin({ rows, batch, worker }, taken, row);
        if (claim !== undefined) return claim;
      }
      await queue.complete(rows, taken.ticket);
      if (row?.state === "running") await recordLoss({ rows, queue, batch }, row);
      if (isNext && row.problem !== undefined) await refuse({ rows, queue, batch }, row, worker);
      return "again";
    });
  } catch (error) {
    if (!(error instanceof NotNow)) throw error;
    await freeBudget(database, queue, found.id);
    return undefined;
  }
}

/** Undefined when it was cancelled while it was being taken. */
async function begin(
  { rows, batch, worker }: { rows: Rows; batch: BatchRow; worker: WorkerIdentity },
  { ticket }: Taken,
  { task, attempts, resumes }: TaskRow,
): Promise<TaskClaim | undefined> {
  const attempt = attempts + 1;
  const changed = await rows.all(
    "UPDATE batch_task SET state = 'running', attempts = $3 WHERE batch = $1 AND key = $2 AND state = 'queued' RETURNING key",
    [batch.id, task.key, attempt],
  );
  if (changed.length === 0) return undefined;
  const grant = await reserveGrant(rows, batch, task);
  if (grant === undefined) throw new NotNow();
  await insertAttempt(rows, { batch, task, attempt, worker, grant });
  return { batch: batch.id, task, attempt, settings: batch.settings, resumes, grant, ticket };
}

/** No worker could carry it out. */
async function refuse(settling: Settling, { task, problem, attempts, failures }: TaskRow, worker: WorkerIdentity) {
  const { rows, batch } = settling;
  const { key } = task;
  const advice = "Submit it again, or update koda here if a newer one has submitted it.";
  const message = `Cannot read task "${key}" of batch ${batch.id} in the store: ${problem}. ${advice}`;
  const attempt = attempts + 1;
  await rows.all("UPDATE batch_task SET attempts = $3 WHERE batch = $1 AND key = $2", [batch.id, key, attempt]);
  await insertAttempt(rows, { batch, task, attempt, worker, grant: {} });
  const error = encodeFailure({ code: "store", message });
  const closing = { kind: "settled", spent: { costUsd: 0, tokens: 0 }, error, endedAt: Date.now() };
  await closeAttempt(rows, { batch, key, attempt }, closing);
  await settle(settling, key, { outcome: "poison", failures });
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
