import type { Rows } from "./database.ts";
import { placesFrom } from "./rows.ts";
import { decodeSpending, type StoredSpending } from "./spending.ts";
import type { AttemptRecord, Spending, TaskResult } from "../store.ts";
import { decodeFailure, decodeTask, type StoredTask, taskColumns } from "./taskrow.ts";

const pageLength = 200;

/** All tasks of a batch in the order of its list, a page at a time. */
export async function* readResults(rows: Rows, batch: string): AsyncGenerator<TaskResult, void> {
  for (let after = -1; ;) {
    const page = await rows.all<StoredTask & { position: number; has_patch: number }>(
      `SELECT ${taskColumns}, position, CASE WHEN length(patch) > 0 THEN 1 ELSE 0 END AS has_patch
       FROM batch_task WHERE batch = $1 AND position > $2 ORDER BY position LIMIT ${pageLength}`,
      [batch, after],
    );
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.position;
    const tasks = page.map((stored) => ({ ...decodeTask(stored), hasPatch: stored.has_patch === 1 }));
    const attempts = await readAttempts(
      rows,
      batch,
      tasks.map(({ task }) => task.key),
    );
    for (const { task, state, ending, durationMs, hasPatch } of tasks) {
      const own = attempts.get(task.key) ?? [];
      yield {
        key: task.key,
        task,
        state,
        attempts: own,
        spent: sumOf(own),
        hasPatch,
        ...ending,
        ...(durationMs !== undefined && { durationMs }),
      };
    }
  }
}

type StoredAttempt = {
  key: string;
  number: number;
  worker: string;
  host: string;
  started_at: number;
  ended_at: number | null;
  kind: AttemptRecord["kind"];
  exit: number | null;
  error: string | null;
} & StoredSpending;

async function readAttempts(
  rows: Rows,
  batch: string,
  keys: readonly string[],
): Promise<Map<string, readonly AttemptRecord[]>> {
  const stored = await rows.all<StoredAttempt>(
    `SELECT key, number, worker, host, started_at, ended_at, kind, exit, error, cost, tokens, unpriced
     FROM batch_attempt WHERE batch = $1 AND key IN (${placesFrom(2, keys)}) ORDER BY key, number`,
    [batch, ...keys],
  );
  const byKey = Map.groupBy(stored, ({ key }) => key);
  return new Map([...byKey].map(([key, attempts]) => [key, attempts.map(decodeAttempt)]));
}

function decodeAttempt(stored: StoredAttempt): AttemptRecord {
  const { number, worker, host, started_at: startedAt, ended_at: endedAt, kind, exit, error } = stored;
  return {
    number,
    worker,
    host,
    startedAt,
    kind,
    spent: decodeSpending(stored),
    ...(endedAt !== null && { endedAt }),
    ...(exit !== null && { exit }),
    ...(error !== null && { error: decodeFailure(error) }),
  };
}

function sumOf(attempts: readonly AttemptRecord[]): Spending {
  return {
    costUsd: attempts.reduce((sum, { spent }) => sum + spent.costUsd, 0),
    tokens: attempts.reduce((sum, { spent }) => sum + spent.tokens, 0),
    isUnpriced: attempts.some(({ spent }) => spent.isUnpriced),
  };
}
