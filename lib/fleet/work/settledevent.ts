import type { FleetEvent } from "../events.ts";
import type { AttemptEnd, TaskClaim, Settled } from "../store.ts";

/** The event that tells what became of an attempt. */
export function eventOf({ batch, task, attempt }: TaskClaim, end: AttemptEnd, settled: Settled): FleetEvent {
  const about = { batch, key: task.key };
  const failure = { exit: end.exit, ...(end.error && { error: end.error }) };
  switch (settled.kind) {
    case "retried":
      return {
        type: "task.retry",
        ...about,
        attempt,
        ...failure,
        // 0 is at once.
        not_before: new Date(settled.notBefore || Date.now()).toISOString(),
      };
    case "returned":
      return { type: "task.returned", ...about, attempt, ...failure };
    case "superseded":
      return { type: "task.superseded", ...about, attempt };
    case "settled":
      return {
        type: "task.end",
        ...about,
        outcome: settled.outcome,
        ...failure,
        ...(settled.spent.isUnpriced !== true && { cost_usd: settled.spent.costUsd }),
        tokens: settled.spent.tokens,
        duration_ms: end.durationMs,
        attempts: attempt,
        ...(end.published && { published: end.published }),
      };
    default:
      return settled satisfies never;
  }
}
