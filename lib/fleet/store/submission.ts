import type { Rows } from "./database.ts";
import type { TaskQueue } from "./queue.ts";
import { insertMany } from "./rows.ts";
import type { BatchSettings } from "../store.ts";
import type { FleetTask } from "../task.ts";

/** Stores a batch and queues what can begin at once. */
export async function submitBatch(
  { rows, queue }: { rows: Rows; queue: TaskQueue },
  { id, settings, tasks }: { id: string; settings: BatchSettings; tasks: readonly FleetTask[] },
): Promise<void> {
  await rows.all(
    `INSERT INTO batch (id, submitted_at, settings, total, state, spent_cost, spent_tokens, reserved_cost,
       reserved_tokens, finished) VALUES ($1, $2, $3, $4, 'open', 0, 0, 0, 0, 0)`,
    [id, Date.now(), JSON.stringify(settings), tasks.length],
  );
  let position = 0;
  await insertMany(
    rows,
    { table: "batch_task", columns: taskNames },
    tasks.values().map((task) => tupleOf(id, task, position++)),
  );
  const needs = tasks.flatMap(({ key, after }) => [...new Set(after)].map((needed) => [id, needed, key]));
  await insertMany(rows, { table: "batch_need", columns: ["batch", "needed", "key"] }, needs);
  await queue.open(rows, id, settings.leaseMs);
  const ready = tasks.filter(({ after }) => after.length === 0);
  await queue.push(rows, id, ready, settings.leaseMs);
}

const taskNames = "batch key position task state needs attempts retries errors losses resumes".split(" ");

function tupleOf(batch: string, task: FleetTask, position: number): (string | number)[] {
  const needs = new Set(task.after).size;
  const state = needs === 0 ? "queued" : "waiting";
  return [batch, task.key, position, JSON.stringify(task), state, needs, 0, 0, 0, 0, 0];
}
