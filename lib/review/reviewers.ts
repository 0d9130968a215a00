import { Slots } from "../async/slots.ts";
import type { AgentPool } from "../conversation/agentpool.ts";
import type { Outcome } from "../engine/outcome.ts";
import { KodaError } from "../errors.ts";
import { patchOf } from "./changes.ts";
import { findingsSchema, readFindings, type Review } from "./findings.ts";
import { type Part, planParts, showPatch } from "./parts.ts";
import { placeFindings } from "./places.ts";
import { requestForPart, requestForText, type ReviewRequest } from "./request.ts";
import { shownIn, type Subject } from "./subject.ts";

/** More of them wait: each has its part of the diff in memory. */
const mostReviewers = 6;

/** Of the window: a reviewer reads the code around the changes too. */
const shareOfWindow = 0.4;
const bytesPerToken = 3.5;

/** The task of one reviewer: it is shown its part when it begins. A target that is no change has one. */
export type ReviewTask = { prompt: () => Promise<string> };

/** One task for each part of the changes, so that a part fits the model's window. */
export function reviewTasks(subject: Subject, request: ReviewRequest, contextWindow: number): readonly ReviewTask[] {
  const { comparison, files } = subject;
  if (comparison === undefined) return [{ prompt: async () => requestForText(request) }];
  const leftOut = files.filter((file) => file.leftOut !== undefined);
  const parts = planParts(shownIn(subject), Math.floor(contextWindow * shareOfWindow * bytesPerToken));
  const promptOf = async (part: Part, at: number) => {
    const patch = showPatch(await patchOf(comparison, part.files), part);
    return requestForPart({ ...request, files: part.files, leftOut, patch, number: at + 1, of: parts.length });
  };
  return parts.map((part, at) => ({ prompt: () => promptOf(part, at) }));
}

/** The answers of all reviewers, and how many of their findings belong nowhere. */
export type Answers = { reviews: readonly Review[]; dropped: number };

type Reviewing = {
  agents: Pick<AgentPool, "run">;
  /** The agent that reviews. */
  agent: string;
  subject: Subject;
  maxTurns: number;
};

/** Runs the reviewers side by side. When one fails the others are stopped, and its outcome is that of the review. */
export async function runReviewers(
  tasks: readonly ReviewTask[],
  { agents, agent, subject, maxTurns }: Reviewing,
  signal: AbortSignal,
): Promise<Answers | Outcome> {
  if (tasks.length > maxTurns) throw new KodaError("max_turns", tooManyParts(tasks.length, maxTurns));
  const slots = new Slots(mostReviewers);
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const failures: Outcome[] = [];
  const running = tasks.map(async ({ prompt }) => {
    using _ = await slots.take(stop);
    const outcome = await agents.run({ agent, prompt, schema: findingsSchema }, stop);
    if (outcome.status !== "done") {
      failures.push(outcome);
      failed.abort(new KodaError("stopped", "another part of the review has failed"));
      return undefined;
    }
    const answer = readFindings(outcome.output);
    const review = await placeFindings(answer, subject.root, subject.read);
    return { review, dropped: answer.findings.length - review.findings.length };
  });
  const settled = await Promise.allSettled(running);
  const [failure] = failures;
  if (failure !== undefined) return failure;
  const found = settled.flatMap((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value ?? [];
  });
  return { reviews: found.map(({ review }) => review), dropped: found.reduce((sum, { dropped }) => sum + dropped, 0) };
}

/** Each part takes one request at least: it is told before any is sent. */
function tooManyParts(parts: number, most: number): string {
  return `The changes have to be reviewed in ${parts} parts, and the limit is ${most} requests: raise --max-turns, or review less`;
}
