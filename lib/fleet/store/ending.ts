import { closeAttempt, lockAccount, moreFor } from "./account.ts";
import { readBatch } from "./batchrow.ts";
import { isLimited } from "./budget.ts";
import type { FleetDatabase, Rows } from "./database.ts";
import type { TaskQueue } from "./queue.ts";
import { first } from "./rows.ts";
import { spentOn } from "./spending.ts";
import { queueAgain, type Settling } from "./queueing.ts";
import { closeWhenOver, settle } from "./settling.ts";
import type { AttemptEnd, TaskClaim, Settled } from "../store.ts";
import { encodeFailure, readTask, type TaskRow } from "./taskrow.ts";
import { unavailableExit, type TaskVerdict, verdictOn } from "./verdict.ts";

/** Records how an attempt ended, and what becomes of its task, all at once or not at all. */
export async function endAttempt(
  { database, queue }: { database: FleetDatabase; queue: TaskQueue },
  claim: TaskClaim,
  end: AttemptEnd,
): Promise<Settled> {
  const settled = await database.write(async (rows): Promise<Settled> => {
    if (isLimited(claim.settings)) await lockAccount(rows, claim.batch);
    const batch = await readBatch(rows, claim.batch);
    const row = await readTask(rows, batch.id, claim.task.key);
    const isHeld = await queue.complete(rows, claim.ticket);
    if (!isHeld || row === undefined) {
      await noteEnd({ rows, queue, batch }, claim, { end, kind: "superseded" });
      return { kind: "superseded" };
    }
    if (end.kind === "exit" && end.exit === unavailableExit) await pauseGroup(rows, claim.task.group, end.retryAt);
    const { failures } = row;
    const verdict = verdictOn(end, {
      failures,
      retries: batch.settings.retries,
      isCancelled: batch.state === "cancelled",
      mayGetMore:
        end.kind === "budget" &&
        ((await othersSpend(rows, claim)) || (await moreFor(rows, batch, claim, end.spent)) !== undefined),
      now: Date.now(),
    });
    return await carryOut({ rows, queue, batch }, { claim, end, row, verdict });
  });
  if (settled.kind === "settled") await closeWhenOver(database, queue, claim.batch);
  return settled;
}

type Ended = { claim: TaskClaim; end: AttemptEnd; row: TaskRow; verdict: TaskVerdict };

async function carryOut(settling: Settling, { claim, end, row, verdict }: Ended): Promise<Settled> {
  const { key } = claim.task;
  switch (verdict.kind) {
    case "settle":
      await noteEnd(settling, claim, { end, kind: "settled" });
      await settle(settling, key, { outcome: verdict.outcome, failures: row.failures, end });
      return {
        kind: "settled",
        outcome: verdict.outcome,
        spent: claim.attempt === 1 ? end.spent : await spentOn(settling.rows, settling.batch.id, key),
      };
    case "retry":
      await noteEnd(settling, claim, { end, kind: "retried" });
      await queueAgain(settling, key, verdict);
      return { kind: "retried", notBefore: verdict.notBefore };
    case "return":
      await noteEnd(settling, claim, { end, kind: "returned" });
      await queueAgain(settling, key, { failures: row.failures, notBefore: 0, resumes: true });
      return { kind: "returned" };
    default:
      return verdict satisfies never;
  }
}

async function noteEnd(
  { rows, batch }: Settling,
  { task, attempt }: TaskClaim,
  { end, kind }: { end: AttemptEnd; kind: string },
): Promise<void> {
  const { spent, exit, error } = end;
  const closing = { kind, spent, exit, endedAt: Date.now(), error: encodeFailure(error) };
  await closeAttempt(rows, { batch, key: task.key, attempt }, closing);
}

const shortestPauseMs = 1000;

/** A provider may be wrong by a year. Then another task of the group asks, which has a retry left. */
const longestPauseMs = 60 * 60_000;

/** Of all batches: the provider refuses them all. */
async function pauseGroup(rows: Rows, group: string, retryAt: number | undefined): Promise<void> {
  const until = Math.min(retryAt ?? Date.now() + shortestPauseMs, Date.now() + longestPauseMs);
  await rows.all(
    `INSERT INTO batch_group (name, paused_until) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE
     SET paused_until = CASE WHEN batch_group.paused_until < $2 THEN $2 ELSE batch_group.paused_until END`,
    [group, until],
  );
}

export async function pausedGroups(rows: Rows): Promise<{ group: string; until: number }[]> {
  const sql = "SELECT name, paused_until FROM batch_group WHERE paused_until > $1 ORDER BY name";
  const groups = await rows.all<{ name: string; paused_until: number }>(sql, [Date.now()]);
  return groups.map(({ name, paused_until: until }) => ({ group: name, until }));
}

/** Other attempts hold a part of the budget, which they may give back. */
async function othersSpend(rows: Rows, { batch, task }: TaskClaim): Promise<boolean> {
  const sql = "SELECT 1 AS found FROM batch_attempt WHERE batch = $1 AND kind = 'open' AND key <> $2 LIMIT 1";
  return (await first(rows, sql, [batch, task.key])) !== undefined;
}
