import { z } from "zod";
import { type Spending, taskStates, type TaskResult } from "../store.ts";
import { keyPattern } from "../task.ts";

/** Null when the price of some tokens is not known. */
const money = z.number().nonnegative().nullable();
const count = z.int().nonnegative();
const failure = z.object({ code: z.string(), message: z.string() });

/** A line of results.jsonl: all that is known of a task, but for its patch. Fields may be added, never renamed. */
export const resultRowSchema = z.object({
  key: z.string().regex(keyPattern),
  outcome: z.enum(taskStates),
  exit: z.int().optional(),
  error: failure.optional(),
  attempts: z.array(
    z.object({
      number: count,
      kind: z.string(),
      host: z.string(),
      exit: z.int().optional(),
      error: failure.optional(),
      started_at: z.string(),
      ended_at: z.string().optional(),
      cost_usd: money,
      tokens: count,
    }),
  ),
  cost_usd: money,
  tokens: count,
  duration_ms: z.number().nonnegative().optional(),
  model: z.string().optional(),
  session: z.string().optional(),
  repo: z.string().optional(),
  ref: z.string().optional(),
  dir: z.string().optional(),
  /** The tasks that it waits for. */
  after: z.array(z.string()).optional(),
  group: z.string(),
  labels: z.array(z.string()),
  branch: z.string().optional(),
  commit: z.string().optional(),
  patch: z.boolean(),
  /** The `end` event of the run. */
  end: z.record(z.string(), z.unknown()).optional(),
});

export type ResultRow = z.infer<typeof resultRowSchema>;

export function rowOf(result: TaskResult): ResultRow {
  const { key, task, state, attempts, spent, durationMs, session, model, result: end, hasPatch, published } = result;
  // A superseded attempt says nothing about the task.
  const last = attempts.findLast(({ kind }) => kind !== "superseded" && kind !== "open");
  return {
    key,
    outcome: state,
    exit: last?.exit,
    error: state === "poison" && last?.kind === "lost" ? deaths(attempts) : last?.error,
    attempts: attempts.map(attemptOf),
    cost_usd: knownCost(spent),
    tokens: spent.tokens,
    duration_ms: durationMs,
    model: model ?? modelOf(task.args),
    session,
    repo: task.repo,
    ref: task.ref,
    dir: task.dir,
    after: task.after.length > 0 ? [...task.after] : undefined,
    group: task.group,
    labels: [...task.labels],
    branch: published?.branch,
    commit: published?.commit,
    patch: hasPatch,
    end,
  };
}

export function knownCost({ costUsd, isUnpriced = false }: Pick<Spending, "costUsd" | "isUnpriced">): number | null {
  return isUnpriced ? null : costUsd;
}

/** The workers themselves could not say so. */
function deaths(attempts: TaskResult["attempts"]): ResultRow["error"] {
  const hosts = new Set(attempts.flatMap(({ kind, host }) => (kind === "lost" ? [host] : [])));
  return {
    code: "worker_lost",
    message: `Two workers died or went silent while running it, on ${[...hosts].join(", ")}`,
  };
}

function attemptOf(attempt: TaskResult["attempts"][number]): ResultRow["attempts"][number] {
  const { number, kind, host, exit, error, startedAt, endedAt, spent } = attempt;
  return {
    number,
    kind,
    host,
    exit,
    error,
    started_at: new Date(startedAt).toISOString(),
    ended_at: endedAt === undefined ? undefined : new Date(endedAt).toISOString(),
    cost_usd: knownCost(spent),
    tokens: spent.tokens,
  };
}

const modelFlag = "--model=";

function modelOf(args: readonly string[]): string | undefined {
  return args.find((arg) => arg.startsWith(modelFlag))?.slice(modelFlag.length);
}
