import { z } from "zod";
import { readJson } from "../../config/json.ts";
import type { Rows } from "./database.ts";
import { first, firstIssue } from "./rows.ts";
import type { TaskState } from "../store.ts";
import { type FleetTask, taskSchema } from "../task.ts";
import type { Failures } from "./verdict.ts";

/** A task with what its attempts have come to. */
export type TaskRow = TaskText & {
  state: TaskState;
  attempts: number;
  failures: Failures;
  resumes: boolean;
  durationMs?: number;
  ending?: TaskEnding;
};

/** A newer koda may have added fields. */
const failureSchema = z.object({ code: z.string(), message: z.string() });
const publishedSchema = z.object({ branch: z.string(), commit: z.string() });

/** All that a settled task has to show, but for its patch. */
const endingSchema = z.object({
  session: z.string().exactOptional(),
  model: z.string().exactOptional(),
  result: z.record(z.string(), z.unknown()).exactOptional(),
  published: publishedSchema.exactOptional(),
});
export type TaskEnding = z.infer<typeof endingSchema>;

/** The task itself. With a problem it has nothing but its key: one that cannot be read must not hide the others. */
type TaskText = { task: FleetTask; problem?: string };

export type StoredTask = {
  key: string;
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

export const taskColumns = "key, task, state, attempts, retries, errors, losses, resumes, duration_ms, ending";

export async function readTask(rows: Rows, batch: string, key: string): Promise<TaskRow | undefined> {
  const sql = `SELECT ${taskColumns} FROM batch_task WHERE batch = $1 AND key = $2`;
  const stored = await first<StoredTask>(rows, sql, [batch, key]);
  return stored === undefined ? undefined : decodeTask(stored);
}

export function decodeTask(stored: StoredTask): TaskRow {
  const { state, attempts, retries, errors, losses, resumes, duration_ms: durationMs, ending } = stored;
  return {
    ...taskIn(stored),
    state,
    attempts,
    failures: { retries, errors, losses },
    resumes: resumes === 1,
    ...(durationMs !== null && { durationMs }),
    // One that is damaged must not hide the other tasks either.
    ...(ending !== null && { ending: endingSchema.safeParse(readJson(ending).value).data ?? {} }),
  };
}

export function taskIn({ key, task }: Pick<StoredTask, "key" | "task">): TaskText {
  const { value, problem } = readJson(task);
  const { data, error } = taskSchema.safeParse(value);
  if (data !== undefined) return { task: data };
  const nothing = { key, prompt: "", args: [], after: [], group: "", labels: [] };
  return { task: nothing, problem: problem ?? firstIssue(error) };
}

export function encodeFailure(error: z.infer<typeof failureSchema> | undefined): string | null {
  return error === undefined ? null : JSON.stringify(error);
}

export function decodeFailure(text: string): z.infer<typeof failureSchema> {
  const unreadable = { code: "store", message: "The reason was damaged in the store" };
  return failureSchema.safeParse(readJson(text).value).data ?? unreadable;
}
