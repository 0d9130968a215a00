import type { AttemptEnd, TaskOutcome } from "../store.ts";

/** How often a task has already been tried in vain, by the kind of failure. */
export type Failures = { retries: number; errors: number; losses: number };

export type TaskVerdict =
  | { kind: "settle"; outcome: TaskOutcome }
  | { kind: "retry"; notBefore: number; failures: Failures; resumes: boolean }
  /** It costs the task nothing. */
  | { kind: "return" };

type Circumstances = {
  failures: Failures;
  retries: number;
  isCancelled: boolean;
  /** The batch has more of its budget for this task, or others have some that they may give back. */
  mayGetMore: boolean;
  now: number;
};

/** A task is poison when as many workers have died in it. */
export const mostLosses = 2;

const mostErrors = 1;

/** At least: a provider that says "in a second" may be down for minutes, and a task has few retries. */
const firstPauseMs = 30_000;
const longestPauseMs = 30 * 60_000;

/** Limits of a day are usual, and a task has few retries; one that is longer may be a mistake. */
const longestWaitMs = 24 * 60 * 60_000;

/** The fate of a task whose attempt has ended. */
export function verdictOn(end: AttemptEnd, circumstances: Circumstances): TaskVerdict {
  const { isCancelled, mayGetMore } = circumstances;
  if (end.kind === "exit" && end.exit === 0) return settle("done");
  if (isCancelled) return settle("cancelled");
  if (end.kind === "fault" || end.kind === "stopped") return { kind: "return" };
  if (end.kind === "budget") return mayGetMore ? { kind: "return" } : settle("limit");
  return verdictOnExit(end, circumstances);
}

function verdictOnExit({ exit, retryAt }: AttemptEnd, { failures, retries, now }: Circumstances): TaskVerdict {
  if (failedExits.includes(exit)) return settle("failed");
  if (limitExits.includes(exit)) return settle("limit");
  if (exit !== unavailableExit)
    return failures.errors < mostErrors
      ? { kind: "retry", notBefore: 0, failures: { ...failures, errors: failures.errors + 1 }, resumes: false }
      : settle("poison");
  if (failures.retries >= retries) return settle("poison");
  const pauseMs = Math.min(firstPauseMs * 2 ** failures.retries, longestPauseMs);
  const notBefore = Math.max(Math.min(retryAt ?? 0, now + longestWaitMs), now + pauseMs);
  return { kind: "retry", notBefore, failures: { ...failures, retries: failures.retries + 1 }, resumes: true };
}

/** The task itself has failed, or its options are wrong: another attempt would not help. */
const failedExits = [2, 3, 6, 8];
const limitExits = [5, 124];
export const unavailableExit = 9;

function settle(outcome: TaskOutcome): TaskVerdict {
  return { kind: "settle", outcome };
}
