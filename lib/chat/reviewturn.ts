import { writableRoots } from "../conversation/allowance.ts";
import type { Conversation, TurnRequest } from "../conversation/conversation.ts";
import { makeTemporary } from "../conversation/workspace/temporary.ts";
import { findGit } from "../git/program.ts";
import { type Findings, findingsOf } from "../review/findings.ts";
import { reports } from "../review/report.ts";
import { reviewRequest } from "../review/review.ts";
import { hideFiles, openSubject, whyNothing } from "../review/subject.ts";
import type { SubmissionOf } from "./submission.ts";

/** A review as the request of a turn, or its findings where there is nothing to review. */
type OpenReview = AsyncDisposable & ({ request: TurnRequest } | { findings: Findings });

export type ReviewOptions = {
  version: string;
  /** Files of koda's own, which are no change. */
  own: readonly string[];
};

export async function openReview(
  { parts, agents }: Conversation,
  { target, hint }: Pick<SubmissionOf<"review">, "target" | "hint">,
  { version, own, signal }: ReviewOptions & { signal: AbortSignal },
): Promise<OpenReview> {
  const { workspace, settings } = parts;
  const { root } = workspace.policy;
  await using held = new AsyncDisposableStack();
  const scratch = held.use(makeTemporary()).settings;
  const writable = writableRoots({ root, loaded: settings.loaded });
  const places = { root, scratch, own: [...own], findGit: () => findGit(settings.env.PATH, writable) };
  const subject = await openSubject(target ?? { kind: "uncommitted" }, places, signal);
  const nothing = whyNothing(subject);
  const report = (review: Parameters<typeof reports.text>[0]) =>
    reports.text(review, { prefix: subject.prefix, version, columns: 80 });
  const shown = hideFiles(subject, workspace.policy);
  const review =
    nothing === undefined
      ? { request: reviewRequest({ subject: shown, hint, agent: "review", agents, report }) }
      : { findings: findingsOf({ findings: [], summary: nothing }) };
  const opened = held.move();
  return { ...review, [Symbol.asyncDispose]: async () => opened.disposeAsync() };
}
