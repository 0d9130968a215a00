import { agentEnd, noTotals } from "../engine/end.ts";
import type { AgentEvent, Event } from "../engine/event.ts";
import { failedAfterwards, type Outcome, outcomeOfError } from "../engine/outcome.ts";
import type { FileLog } from "../session/files.ts";
import type { Conversation, TurnRequest } from "./conversation.ts";

/** An agent to open: the call that starts it, and the id that its session will have. */
export type WantedAgent = { name: string; prompt: string; call: string; session: string };

export type AgentRun = {
  wanted: WantedAgent & { id: string };
  /** Settles when it can begin. */
  open(signal: AbortSignal): Promise<Conversation>;
  request: TurnRequest;
  post: (event: Event) => void;
  observer?: AgentObserver;
};

export type AgentObserver = {
  onOpen(child: Conversation): void;
  onEvent(event: AgentEvent): void;
  /** No more messages are taken. */
  onOver(): void;
};

/** The files that the agent has read are undefined when it has not begun. */
export type AgentEnd = { outcome: Outcome; files: FileLog | undefined };

/**
 * Runs an agent to its end and closes it. Its events are passed on, the last of them its `end`: one that is stopped
 * before it begins has no other, and one that cannot be opened has none. It never rejects.
 */
export async function runAgent(run: AgentRun, signal: AbortSignal): Promise<AgentEnd> {
  let child: Conversation;
  try {
    child = await run.open(signal);
  } catch (error) {
    const outcome = outcomeOfError(error, signal, "");
    run.observer?.onOver();
    if (outcome.status !== "failed") tell(run, agentEnd(outcome, { ...noTotals(), durationMs: 0 }));
    return { outcome, files: undefined };
  }
  const startedAt = performance.now();
  run.observer?.onOpen(child);
  const outcome = await close(run, child, { outcome: await work(run, child, signal), startedAt });
  return { outcome, files: child.parts.session.files };
}

async function work(run: AgentRun, child: Conversation, signal: AbortSignal): Promise<Outcome> {
  const { request } = run;
  try {
    tell(run, child.start(request));
    let outcome = await passOn(run, child.run(request, signal));
    // A message may come after the last request of a turn.
    while (outcome.status === "done" && !child.inbox.isEmpty) {
      const { text } = outcome;
      outcome = await passOn(
        run,
        child.run({ ...request, prompt: child.inbox.takePrompts().flatMap(({ parts }) => parts) }, signal),
      );
      // Its parent has not seen the answer before. One that matches a schema stands for itself.
      if (request.schema === undefined) outcome = { ...outcome, text: `${text}\n\n${outcome.text}`.trim() };
    }
    return outcome;
  } catch (error) {
    return outcomeOfError(error, signal, "");
  }
}

type Worked = { outcome: Outcome; startedAt: number };

async function close(run: AgentRun, child: Conversation, { outcome, startedAt }: Worked): Promise<Outcome> {
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
    // An agent takes no submissions and starts no agents; its end is made here.
    switch (value.type) {
      case "question":
      case "question.end":
      case "elicitation.request":
      case "elicitation.decision":
      case "approval.request":
      case "approval.decision":
      case "shell.start":
      case "shell.output":
      case "shell.end":
      case "accepted":
      case "rejected":
      case "reply":
      case "agent":
      case "end":
        break;
      default:
        tell(run, value);
    }
  }
}

function tell({ wanted: { id, name }, post, observer }: AgentRun, event: AgentEvent): void {
  observer?.onEvent(event);
  post({ type: "agent", agent: { id, name }, event });
}
