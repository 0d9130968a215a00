import { z } from "zod";
import type { Rows } from "./database.ts";
import { first } from "./rows.ts";
import type { TaskState } from "../store.ts";
import { type FleetTask, taskSchema } from "../task.ts";
import type { Failures } from "./verdict.ts";

/** A task with what its attempts have come to. */
export type TaskRow = {
  task: FleetTask;
  state: TaskState;
  attempts: number;
  failures: Failures;
  resumes: boolean;
  durationMs?: number;
  ending?: TaskEnding;
};

const failureSchema = z.strictObject({ code: z.string(), message: z.string() });
const publishedSchema = z.strictObject({ branch: z.string(), commit: z.string() });

/** All that a settled task has to show, but for its patch. */
const endingSchema = z.strictObject({
  session: z.string().exactOptional(),
  result: z.record(z.string(), z.unknown()).exactOptional(),
  published: publishedSchema.exactOptional(),
});
export type TaskEnding = z.infer<typeof endingSchema>;

export type StoredTask = {
  task: string;
  state: TaskState;
  attempts: number;
  retries: number;
  errors: number;
  losses: number;
  resumes: number;
  duration_ms: number | null;
  ending: string | null;
};

export const taskColumns = "task, state, attempts, retries, errors, losses, resumes, duration_ms, ending";

export async function readTask(rows: Rows, batch: string, key: string): Promise<TaskRow | undefined> {
  const sql = `SELECT ${taskColumns} FROM batch_task WHERE batch = $1 AND key = $2`;
  const stored = await first<StoredTask>(rows, sql, [batch, key]);
  return stored === undefined ? undefined : decodeTask(stored);
}

export function decodeTask(stored: StoredTask): TaskRow {
  const { task, state, attempts, retries, errors, losses, resumes, duration_ms: durationMs, ending } = stored;
  return {
    task: taskSchema.parse(JSON.parse(task)),
    state,
    attempts,
    failures: { retries, errors, losses },
    resumes: resumes === 1,
    ...(durationMs !== null && { durationMs }),
    ...(ending !== null && { ending: endingSchema.parse(JSON.parse(ending)) }),
  };
}

export function encodeFailure(error: z.infer<typeof failureSchema> | undefined): string | null {
  return error === undefined ? null : JSON.stringify(error);
}

export function decodeFailure(text: string): z.infer<typeof failureSchema> {
  return failureSchema.parse(JSON.parse(text));
}
