import { type BatchRow, readBatch } from "./batchrow.ts";
import { grantFor, isLimited } from "./budget.ts";
import type { Rows } from "./database.ts";
import { first } from "./rows.ts";
import { encodeFailure } from "./taskrow.ts";
import { columnsOf, type StoredSpending } from "./spending.ts";
import type { TaskClaim, Spending } from "../store.ts";
import type { FleetTask } from "../task.ts";

/** Attempts of a batch wait for each other here, so it is the first thing that a transaction about money does. */
const lock = "UPDATE batch SET finished = finished WHERE id = $1";

/**
 * Sets aside what an attempt may spend. Undefined when there is not enough left. Without limits nothing is written,
 * so that workers need not wait for each other.
 */
export async function reserveGrant(
  rows: Rows,
  batch: BatchRow,
  task: FleetTask,
): Promise<Partial<Spending> | undefined> {
  const grant = grantFor(batch.settings, batch.account, task);
  if (grant === undefined || !isLimited(batch.settings)) return grant;
  await charge(rows, batch.id, { reserved: asSpending(grant) });
  return grant;
}

/** Waits for the other attempts of a limited batch. To be called before the batch is read. */
export async function lockAccount(rows: Rows, batch: string): Promise<void> {
  await rows.all(lock, [batch]);
}

/** For a batch that was not limited until now. What is running is charged when it ends. */
export async function openAccount(rows: Rows, batch: string): Promise<void> {
  await lockAccount(rows, batch);
  // One that is ending is waited for, or waits and then sees the budget.
  await rows.all("UPDATE batch_attempt SET kind = kind WHERE batch = $1 AND kind = 'open'", [batch]);
  await rows.all(
    `UPDATE batch SET spent_cost = closed.cost, spent_tokens = closed.tokens, finished = closed.finished FROM (
       SELECT COALESCE(SUM(cost), 0) AS cost, COALESCE(SUM(tokens), 0) AS tokens,
         CAST(COALESCE(SUM(CASE WHEN kind = 'settled' THEN 1 ELSE 0 END), 0) AS INTEGER) AS finished
       FROM batch_attempt WHERE batch = $1 AND kind <> 'open') AS closed
     WHERE id = $1`,
    [batch],
  );
}

type Change = { spent?: Spending; reserved?: Spending; finished?: number };

async function charge(rows: Rows, batch: string, { spent, reserved, finished = 0 }: Change): Promise<void> {
  await rows.all(
    `UPDATE batch SET spent_cost = spent_cost + $2, spent_tokens = spent_tokens + $3,
       reserved_cost = reserved_cost + $4, reserved_tokens = reserved_tokens + $5, finished = finished + $6
     WHERE id = $1`,
    [batch, spent?.costUsd ?? 0, spent?.tokens ?? 0, reserved?.costUsd ?? 0, reserved?.tokens ?? 0, finished],
  );
}

type Booked = StoredSpending & { kind: string; reserved_cost: number; reserved_tokens: number };

type Closing = { kind: string; spent: Spending; exit?: number; error?: string | null; endedAt: number };

/** Notes how an attempt ended and what it has spent; gives back what was set aside for it. */
export async function closeAttempt(
  rows: Rows,
  { batch, key, attempt }: { batch: BatchRow; key: string; attempt: number },
  { kind, spent, exit, error, endedAt }: Closing,
): Promise<void> {
  const where = "batch = $1 AND key = $2 AND number = $3";
  // Locked: whoever takes it for lost would charge the same money as its worker, which comes back.
  const sql = `UPDATE batch_attempt SET kind = kind WHERE ${where} RETURNING *`;
  const booked = await first<Booked>(rows, sql, [batch.id, key, attempt]);
  if (booked === undefined) return;
  await rows.all(
    `UPDATE batch_attempt SET kind = $4, cost = $5, tokens = $6, unpriced = $7, exit = $8, error = $9, ended_at = $10,
       reserved_cost = 0, reserved_tokens = 0 WHERE ${where}`,
    [batch.id, key, attempt, kind, ...columnsOf(spent), exit ?? null, error ?? null, endedAt],
  );
  // The batch may have got its budget after it was read.
  if (!isLimited(batch.settings) && !isLimited((await readBatch(rows, batch.id)).settings)) return;
  // One that was taken for lost has been charged already.
  const charged = booked.kind === "open" ? noSpending : { costUsd: booked.cost, tokens: booked.tokens };
  await charge(rows, batch.id, {
    spent: { costUsd: spent.costUsd - charged.costUsd, tokens: spent.tokens - charged.tokens },
    reserved: { costUsd: -booked.reserved_cost, tokens: -booked.reserved_tokens },
    finished: booked.kind === "open" && kind === "settled" ? 1 : 0,
  });
}

/** One whose worker ended or is silent, unless it is closed: it may have spent all that was set aside for it. */
export async function closeLostAttempt(rows: Rows, of: { batch: BatchRow; key: string; attempt: number }) {
  const where = "batch = $1 AND key = $2 AND number = $3 AND kind = 'open'";
  const sql = `UPDATE batch_attempt SET kind = kind WHERE ${where} RETURNING *`;
  const booked = await first<Booked>(rows, sql, [of.batch.id, of.key, of.attempt]);
  if (booked === undefined) return;
  const spent: Spending = {
    costUsd: Math.max(booked.cost, booked.reserved_cost),
    tokens: Math.max(booked.tokens, booked.reserved_tokens),
    isUnpriced: booked.unpriced === 1,
  };
  await closeAttempt(rows, of, { kind: "lost", spent, error: encodeFailure(workerLost), endedAt: Date.now() });
}

const workerLost = { code: "worker_lost", message: "Its worker died or went silent" };

/** More of the budget for an attempt that has spent its grant. */
export async function extendGrant(
  rows: Rows,
  batch: BatchRow,
  claim: TaskClaim,
  spent: Spending,
): Promise<Partial<Spending> | undefined> {
  const found = await moreFor(rows, batch, claim, spent);
  if (found === undefined) return undefined;
  const { grant, booked } = found;
  const now = { costUsd: spent.costUsd + (grant.costUsd ?? 0), tokens: spent.tokens + (grant.tokens ?? 0) };
  await rows.all(
    "UPDATE batch_attempt SET reserved_cost = $4, reserved_tokens = $5 WHERE batch = $1 AND key = $2 AND number = $3",
    [batch.id, claim.task.key, claim.attempt, now.costUsd, now.tokens],
  );
  await charge(rows, batch.id, {
    reserved: { costUsd: now.costUsd - booked.reserved_cost, tokens: now.tokens - booked.reserved_tokens },
  });
  return grant;
}

/** The grant that an attempt would get now, as if it had ended and were to begin again. */
export async function moreFor(
  rows: Rows,
  { id, account, settings }: BatchRow,
  { task, attempt }: TaskClaim,
  spent: Spending,
): Promise<{ grant: Partial<Spending>; booked: Booked } | undefined> {
  const sql = "SELECT * FROM batch_attempt WHERE batch = $1 AND key = $2 AND number = $3 AND kind = 'open'";
  const booked = await first<Booked>(rows, sql, [id, task.key, attempt]);
  if (booked === undefined) return undefined;
  const without = {
    ...account,
    spent: { costUsd: account.spent.costUsd + spent.costUsd, tokens: account.spent.tokens + spent.tokens },
    reserved: {
      costUsd: account.reserved.costUsd - booked.reserved_cost,
      tokens: account.reserved.tokens - booked.reserved_tokens,
    },
  };
  // A run that has stopped with this much left needs more for its next request, or would stop again for ever.
  const unspent = { costUsd: booked.reserved_cost - spent.costUsd, tokens: booked.reserved_tokens - spent.tokens };
  const grant = grantFor(settings, without, leftFor(task, spent), unspent);
  return grant && exceeds(grant, unspent) ? { grant, booked } : undefined;
}

function exceeds({ costUsd, tokens }: Partial<Spending>, unspent: Spending): boolean {
  return (costUsd !== undefined && costUsd > unspent.costUsd) || (tokens !== undefined && tokens > unspent.tokens);
}

function leftFor({ maxCost, maxTokens }: FleetTask, spent: Spending): Pick<FleetTask, "maxCost" | "maxTokens"> {
  return {
    ...(maxCost !== undefined && { maxCost: maxCost - spent.costUsd }),
    ...(maxTokens !== undefined && { maxTokens: maxTokens - spent.tokens }),
  };
}

function asSpending({ costUsd = 0, tokens = 0 }: Partial<Spending>): Spending {
  return { costUsd, tokens };
}

const noSpending: Spending = { costUsd: 0, tokens: 0 };
