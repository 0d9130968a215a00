import { agentEnd } from "../engine/end.ts";
import type { AgentEvent, AgentTag, Event } from "../engine/event.ts";
import { failedAfterwards, type Outcome, outcomeOfError } from "../engine/outcome.ts";
import type { Conversation, TurnRequest } from "./conversation.ts";

export type AgentRun = {
  tag: AgentTag;
  child: Conversation;
  request: TurnRequest;
  post: (event: Event) => void;
  observer?: AgentObserver;
};

export type AgentObserver = {
  onEvent(event: AgentEvent): void;
  /** No more messages are taken. */
  onOver(): void;
};

/** Runs an agent to its end and closes it. Its events are passed on, the last of them its `end`. It never rejects. */
export async function runAgent(run: AgentRun, signal: AbortSignal): Promise<Outcome> {
  const { child, request } = run;
  const startedAt = performance.now();
  let outcome: Outcome;
  try {
    tell(run, child.start(request));
    outcome = await passOn(run, child.run(request, signal));
    // A message may come after the last request of a turn.
    while (outcome.status === "done" && !child.inbox.isEmpty) {
      const { text } = outcome;
      outcome = await passOn(run, child.run({ ...request, prompt: child.inbox.takePrompt() }, signal));
      // Its parent has not seen the answer before. One that matches a schema stands for itself.
      if (request.schema === undefined) outcome = { ...outcome, text: `${text}\n\n${outcome.text}`.trim() };
    }
  } catch (error) {
    outcome = outcomeOfError(error, signal, "");
  }
  return await close(run, outcome, startedAt);
}

/** Closes an agent that was stopped before it began. It has a start and an end all the same: it is counted. */
export async function endUnbegun(run: AgentRun, outcome: Outcome): Promise<Outcome> {
  tell(run, run.child.start(run.request));
  return await close(run, outcome, performance.now());
}

async function close(run: AgentRun, outcome: Outcome, startedAt: number): Promise<Outcome> {
  const { child } = run;
  run.observer?.onOver();
  let last = outcome;
  try {
    await passOn(run, child.parts.events.until(child[Symbol.asyncDispose]()));
  } catch (error) {
    last = failedAfterwards(outcome, error);
  }
  tell(run, agentEnd(last, { ...child.totals, durationMs: performance.now() - startedAt }));
  return last;
}

async function passOn<T>(run: AgentRun, events: AsyncGenerator<Event, T>): Promise<T> {
  while (true) {
    const { done, value } = await events.next();
    if (done === true) return value;
    // An agent starts none of its own, and its end is made here.
    if (value.type !== "agent" && value.type !== "end") tell(run, value);
  }
}

function tell({ tag, post, observer }: AgentRun, event: AgentEvent): void {
  observer?.onEvent(event);
  post({ type: "agent", agent: tag, event });
}
