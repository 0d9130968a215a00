import { z } from "zod";
import { outcomes } from "./store.ts";

const count = z.int().nonnegative();
const money = z.number().nonnegative();

const task = {
  batch: z.string().describe("The batch"),
  key: z.string().describe("The task"),
};

const error = z
  .strictObject({ code: z.string(), message: z.string() })
  .exactOptional()
  .describe("Why, as in the `end` event of `koda exec`");

/**
 * The events of `koda batch run --json`, `koda worker --json` and `koda batch watch`, one a line. Fields may be added,
 * never renamed, and readers ignore types that they do not know. Only tests need the values: others import types.
 */
const fleetEvents = [
  z
    .strictObject({
      type: z.literal("batch.start"),
      batch: task.batch,
      total: count.describe("The number of its tasks"),
    })
    .describe("A batch begins"),
  z
    .strictObject({
      type: z.literal("task.start"),
      ...task,
      attempt: count.describe("1 for the first"),
      worker: z.string().describe("The worker that carries it out"),
    })
    .describe("An attempt begins"),
  z
    .strictObject({
      type: z.literal("task.note"),
      ...task,
      message: z.string(),
    })
    .describe("Something that people should know of an attempt, such as why it could not continue an earlier one"),
  z
    .strictObject({
      type: z.literal("task.retry"),
      ...task,
      attempt: count,
      exit: z.int().describe("The exit code of the attempt"),
      error,
      not_before: z.iso.datetime().describe("When it is tried again"),
    })
    .describe("An attempt has failed, and there will be another"),
  z
    .strictObject({
      type: z.literal("task.returned"),
      ...task,
      attempt: count,
      exit: z.int().describe("The exit code of the attempt"),
      error,
    })
    .describe("The task was given back, which costs it no retry: the worker stopped, or the machine is at fault"),
  z
    .strictObject({ type: z.literal("task.superseded"), ...task, attempt: count })
    .describe("The worker was silent for too long, so another one has the task and this attempt does not count"),
  z
    .strictObject({
      type: z.literal("task.end"),
      ...task,
      outcome: z.enum(outcomes),
      exit: z.int().exactOptional().describe("The exit code of the last attempt; absent when there was none"),
      error,
      cost_usd: money.exactOptional().describe("What the task cost; absent when unknown"),
      tokens: count.describe("The tokens of all attempts"),
      duration_ms: money.describe("How long the last attempt took"),
      attempts: count,
      published: z
        .strictObject({ branch: z.string(), commit: z.string() })
        .exactOptional()
        .describe("The branch that was pushed"),
    })
    .describe("A task is settled"),
  z
    .strictObject({ type: z.literal("worker.note"), worker: z.string(), message: z.string() })
    .describe("Something that people should know of a worker, such as a store that it cannot reach"),
  z
    .strictObject({
      type: z.literal("worker.stop"),
      worker: z.string(),
      why: z.string().describe("Why it takes no more tasks"),
      exit: z.int().exactOptional().describe("Its exit code, when that is not 0"),
    })
    .describe("A worker takes no more tasks"),
  z
    .strictObject({
      type: z.literal("batch.end"),
      batch: task.batch,
      counts: z.record(z.enum(outcomes), count).describe("Its tasks by their outcomes"),
      cost_usd: money.exactOptional().describe("What all tasks cost; absent when unknown"),
      tokens: count,
      exit: z.int().describe("The exit code of `koda batch run`"),
    })
    .describe("The last event"),
] as const;

export const fleetEventSchema = z.discriminatedUnion("type", fleetEvents);

export type FleetEvent = z.infer<typeof fleetEventSchema>;

/** Words for people about a retry. */
export function againAt({
  not_before: notBefore,
}: Pick<Extract<FleetEvent, { type: "task.retry" }>, "not_before">): string {
  return Date.parse(notBefore) <= Date.now() ? "again at once" : `again at ${notBefore}`;
}
