import type { AgentPool } from "../conversation/agentpool.ts";
import type { TurnRequest } from "../conversation/conversation.ts";
import { counted } from "../counted.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { type Outcome, outcomeOfError } from "../engine/outcome.ts";
import type { Turn } from "../engine/turn.ts";
import { recordEnd, tellTurnEnd, turnEnd } from "../engine/turnend.ts";
import { KodaError } from "../errors.ts";
import { noUsage } from "../model/usage.ts";
import type { Item } from "../session/item.ts";
import { visibleLine } from "../visible.ts";
import { findingsOf, mergeReviews, type Review } from "./findings.ts";
import { type Answers, reviewTasks, type ReviewTask, runReviewers } from "./reviewers.ts";
import { leftOutWords, shownIn, type Subject } from "./subject.ts";
import { describeTarget } from "./target.ts";

type ReviewOptions = {
  subject: Subject;
  /** Something to look at above all, in the user's words. */
  hint?: string | undefined;
  /** The agent that reviews, of these. */
  agent: string;
  agents: Pick<AgentPool, "run">;
  /** The answer of the turn. */
  report: (review: Review) => string;
};

/**
 * A review as a turn of a conversation, between others. Agents do the reading, side by side when the changes are too
 * large for one. The findings are the outcome's output, and are recorded for the turns that follow; a review that ends
 * early has none.
 */
export function reviewRequest(options: ReviewOptions): TurnRequest {
  const { subject, hint } = options;
  const text = `Review ${describeTarget(subject.target)}${hint === undefined ? "" : `: ${hint}`}`;
  return {
    prompt: [{ type: "text", text }],
    work: (turn, opening, signal) => runReview(turn, { ...options, opening }, signal),
  };
}

type Reviewing = ReviewOptions & { opening: readonly Item[] };

async function* runReview(turn: Turn, options: Reviewing, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
  const { session, events, info, ledger, changes } = turn;
  const { subject, hint, opening } = options;
  const number = session.beginTurn(...opening);
  let recorded: Outcome | undefined;
  try {
    yield { type: "turn.start", turn: number };
    const tasks = reviewTasks(subject, { target: subject.target, hint }, info.contextWindow);
    yield* beginning(subject, tasks);
    const { maxTurns } = ledger.limits;
    const answers = runReviewers(tasks, { ...options, maxTurns }, signal);
    const { outcome, dropped } = yield* events.until(outcomeOf(answers, options, signal));
    if (dropped > 0) yield notice("warn", droppedWords(dropped));
    if (outcome.status !== "done") yield notice("warn", "The review ended early, so there are no findings");
    yield* tellTurnEnd(turn, { opening, outcome }, signal);
    yield* events.drain();
    yield* await changes.collect(signal);
    recorded = record(turn, outcome, signal);
    if (recorded.status === "done") yield { type: "text.done", text: recorded.text };
    yield turnEnd(number, recorded);
    return recorded;
  } finally {
    // The reader left.
    if (recorded === undefined) recordEnd(turn, outcomeOfError(readerGone, signal, ""), signal);
  }
}

const readerGone = new KodaError("reader_gone", "the reader of this turn's events is gone");

function* beginning(subject: Subject, tasks: readonly ReviewTask[]): Generator<Event> {
  const { target, files } = subject;
  const shown = shownIn(subject).length;
  const size = target.kind === "text" ? "" : `: ${counted(shown, "file")}`;
  const parts = tasks.length > 1 ? ` in ${tasks.length} parts` : "";
  yield notice("info", `Reviewing ${visibleLine(describeTarget(target))}${size}${parts}`);
  if (shown < files.length) yield notice("info", leftOutWords(files));
}

async function outcomeOf(
  reviewing: Promise<Answers | Outcome>,
  { report }: ReviewOptions,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; dropped: number }> {
  try {
    const result = await reviewing;
    // Its text is that of one reviewer.
    if ("status" in result) return { outcome: { ...result, text: "" }, dropped: 0 };
    const review = mergeReviews(result.reviews);
    return { outcome: { status: "done", text: report(review), output: findingsOf(review) }, dropped: result.dropped };
  } catch (error) {
    if (!(error instanceof KodaError) && !signal.aborted) throw error;
    return { outcome: outcomeOfError(error, signal, ""), dropped: 0 };
  }
}

/** The turn's end; before it the findings, so that a later turn can act on them. */
function record(turn: Turn, outcome: Outcome, signal: AbortSignal): Outcome {
  if (outcome.status !== "done") return recordEnd(turn, outcome, signal);
  const text = JSON.stringify(outcome.output);
  try {
    turn.session.append({ kind: "assistant", parts: [{ type: "text", text }], finish: "stop", usage: noUsage });
    return recordEnd(turn, outcome, signal);
  } catch (error) {
    return recordEnd(turn, outcomeOfError(error, signal, outcome.text), signal);
  }
}

function droppedWords(dropped: number): string {
  return `Dropped ${counted(dropped, "finding")} on files that were not reviewed or do not exist`;
}

function notice(level: EventOf<"notice">["level"], message: string): Event {
  return { type: "notice", level, code: "review", message };
}
