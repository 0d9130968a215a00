import type { AgentEvent, AgentTag } from "../engine/event.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { Input } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import { shortened } from "../session/graphemes.ts";
import { failed, succeeded, type ToolResult } from "../tools/tool.ts";
import { type AgentResult, answerNote } from "./agentresult.ts";
import type { AgentObserver } from "./agentrun.ts";
import type { Conversation } from "./conversation.ts";

type Started = { tag: AgentTag; child: Conversation; prompt: string; resultOf: (outcome: Outcome) => AgentResult };

/** An agent in the background. The model sees its result once, whether it asks for it or not. */
export class BackgroundAgent implements AgentObserver {
  readonly #started: Omit<Started, "child">;
  /** Undefined when it takes no more messages. */
  #child: Conversation | undefined;
  readonly #stop = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly #startedAt = performance.now();
  /** The steps since the last look, as lines. */
  #steps: string[] = [];
  #stepsLeftOut = 0;
  #outcome: Outcome | undefined;
  /** Made when it is first asked for, since storing a long answer may fail. */
  #result: AgentResult | undefined;
  #isSeen = false;

  constructor({ child, ...started }: Started) {
    this.#started = started;
    this.#child = child;
  }

  get id(): string {
    return this.#started.tag.id;
  }

  /** Aborted when this agent is to stop. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get isRunning(): boolean {
    return this.#outcome === undefined;
  }

  get isUnseen(): boolean {
    return this.#outcome !== undefined && !this.#isSeen;
  }

  onEvent(event: AgentEvent): void {
    const step = stepOf(event);
    if (step === undefined) return;
    this.#steps.push(step);
    if (this.#steps.length <= mostSteps) return;
    this.#steps.shift();
    this.#stepsLeftOut++;
  }

  onOver(): void {
    this.#child = undefined;
  }

  end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#ended.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KodaError("stopped", "TaskStop was called"));
    await this.ended;
  }

  send(message: string): ToolResult {
    const { tag } = this.#started;
    if (this.#child === undefined) return failed(`The agent "${tag.id}" has ended and takes no more messages.`);
    this.#child.inbox.add([{ type: "text", text: message }]);
    return succeeded(`The agent "${tag.id}" will read it before its next request.`);
  }

  describe(): string {
    const { tag, prompt } = this.#started;
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const state = this.#outcome === undefined ? `is running, ${seconds} s` : states[this.#outcome.status];
    return `${tag.id} ${tag.name} ${state}: ${shortened(prompt.replace(/\s+/g, " ").trim(), 100)}`;
  }

  /** The call that asks has not failed, whatever became of the agent. */
  look(): ToolResult {
    if (this.#outcome !== undefined) return { ...this.#seen(this.#outcome), ok: true };
    const steps = this.#steps.splice(0);
    const more = this.#stepsLeftOut === 0 ? [] : [`(${this.#stepsLeftOut} earlier steps)`];
    this.#stepsLeftOut = 0;
    const since = steps.length === 0 ? ["nothing since the last look"] : ["since the last look:", ...more, ...steps];
    return succeeded([this.describe(), ...since].join("\n"));
  }

  /** The result as a message for the model, unless it has seen it. */
  takeResult(): Input | undefined {
    if (this.#outcome === undefined || this.#isSeen) return undefined;
    const { id, name } = this.#started.tag;
    return { kind: "result", item: answerNote(`"${id}" (${name})`, this.#seen(this.#outcome)) };
  }

  #seen(outcome: Outcome): AgentResult {
    this.#result ??= this.#started.resultOf(outcome);
    this.#isSeen = true;
    return this.#result;
  }
}

const mostSteps = 20;
const longestStep = 200;

const states = {
  done: "has finished",
  failed: "has failed",
  limit: "reached a limit",
  cancelled: "was stopped",
} as const;

function stepOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case "tool.start":
      return `${event.tool} ${shortened(JSON.stringify(event.input), longestStep)}`;
    case "text.done":
      return shortened(event.text.replace(/\s+/g, " "), longestStep);
    default:
      return undefined;
  }
}
