import { z } from "zod";

/**
 * The name of a task in its batch; `<batch>.<key>` is its session, which takes 64 characters. It is a name of files
 * and an argument too, so it begins neither with a dot nor with a dash.
 */
export const keyPattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,47}$/;

/** A task as the store has it: with defaults, and without anything that only the submitter's machine has. */
export const taskSchema = z.strictObject({
  key: z.string().regex(keyPattern),
  prompt: z.string(),
  /** A repository that git can clone. Without one the task works in `dir`, or in an empty directory. */
  repo: z.string().exactOptional(),
  /** Its branch, tag or commit; the default branch without. */
  ref: z.string().exactOptional(),
  /** Below the clone; without `repo` a directory of the worker's machine, which the task changes in place. */
  dir: z.string().exactOptional(),
  /** Flags of `koda exec`. */
  args: z.array(z.string()),
  /** The JSON Schema of the answer: a worker has no files of the submitter. */
  schema: z.json().exactOptional(),
  /** Keys of tasks that have to be done first. */
  after: z.array(z.string()),
  /** Tasks of a group share the provider's limits: what one is told holds for all. */
  group: z.string(),
  /** A worker needs all of them. */
  labels: z.array(z.string()),
  publish: z.strictObject({ branch: z.string() }).exactOptional(),
  /** The most that one attempt may spend, in US dollars and tokens. */
  maxCost: z.number().exactOptional(),
  maxTokens: z.number().exactOptional(),
});

export type FleetTask = z.infer<typeof taskSchema>;
