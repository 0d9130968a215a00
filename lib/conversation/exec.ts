import { counted } from "../counted.ts";
import { endEvent, noTotals, type Totals } from "../engine/end.ts";
import type { Event } from "../engine/event.ts";
import type { Ledger } from "../engine/ledger.ts";
import { failedAfterwards, type Outcome, outcomeOfError } from "../engine/outcome.ts";
import { KodaError } from "../errors.ts";
import type { Conversation, TurnRequest } from "./conversation.ts";
import { type FailOn, withFailOn } from "./failon.ts";
import type { Host } from "./host.ts";

export type TaskEnd = {
  /** Delivers the answer when nothing runs any more; may change the outcome. */
  conclude(outcome: Outcome, totals: Totals): Promise<Outcome>;
  /** Reports a bug in koda on stderr. */
  report(error: unknown): Promise<void>;
};

/** One request and everything around it. */
type Task = TaskEnd & {
  /** An outcome when there is nothing to do, which needs no conversation. */
  open(): Promise<{ conversation: Conversation; request: TurnRequest; failOn: readonly FailOn[] } | Outcome>;
};

/** One request, from the first event to the last. */
export async function* runTask(host: Host, task: Task): AsyncGenerator<Event, void> {
  yield* runWith(host, task, async function* (current) {
    const opened = await task.open();
    if ("status" in opened) return opened;
    const { conversation, request, failOn } = opened;
    current.conversation = conversation;
    // The turn is the whole run, so it waits for the agents in the background.
    const { agents, inbox } = conversation;
    inbox.expect(() => agents.background.next());
    yield conversation.start(request);
    yield* conversation.parts.events.drain();
    const outcome = yield* conversation.run({ ...request, isLast: true }, host.signal);
    return withFailOn(withCommands(outcome, conversation.parts.ledger), failOn, conversation);
  });
}

/** The conversation of a run, once it is open; a chat may open another one. */
export type Current = { conversation?: Conversation };

/**
 * Some work with a conversation, from the first event to the last: open, run, close, conclude, and then the only `end`,
 * which comes exactly once on every path.
 */
export async function* runWith(
  host: Host,
  task: TaskEnd,
  work: (current: Current) => AsyncGenerator<Event, Outcome>,
): AsyncGenerator<Event, void> {
  let outcome: Outcome;
  const current: Current = {};
  try {
    outcome = yield* work(current);
  } catch (error) {
    if (!(error instanceof KodaError)) await task.report(error);
    outcome = outcomeOfError(error, host.signal, "");
  }

  const { conversation } = current;
  try {
    if (conversation === undefined) await host[Symbol.asyncDispose]();
    else yield* close(host, conversation, outcome);
  } catch (error) {
    if (!(error instanceof KodaError)) await task.report(error);
    outcome = failedAfterwards(outcome, error);
  }
  // A run that was stopped while it was being closed was not finished in time.
  if (host.signal.aborted) outcome = failedAfterwards(outcome, host.signal.reason);
  const totals = { ...(conversation?.totals ?? noTotals()), durationMs: performance.now() - host.startedAt };
  outcome = await task.conclude(outcome, totals);
  // The time limit also holds while the answer is being delivered.
  host.clocks.stop();
  yield endEvent(outcome, totals);
}

async function* close(host: Host, conversation: Conversation, outcome: Outcome): AsyncGenerator<Event, void> {
  try {
    yield* conversation.end(outcome, host.signal);
  } finally {
    yield* conversation.parts.events.until(host[Symbol.asyncDispose]());
  }
}

/** An answer is not trustworthy when none of its commands could run. */
function withCommands(outcome: Outcome, { commands }: Ledger): Outcome {
  if (outcome.status !== "done" || commands.refused === 0 || commands.begun > 0) return outcome;
  const message = `The sandbox could not be set up for any of ${counted(commands.refused, "command")}: run koda doctor for details`;
  return { status: "failed", text: outcome.text, error: { code: "sandbox", message, retryable: false } };
}
