import type { AgentEvent } from "../engine/event.ts";
import type { Input, Prompt } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import type { ModelInfo } from "../model/model.ts";
import { shortened } from "../session/graphemes.ts";
import { textOfParts } from "../session/content.ts";
import { failed, succeeded, type ToolResult } from "../tools/tool.ts";
import { whyTooLong } from "./agentprompt.ts";
import { type AgentResult, answerNote } from "./agentresult.ts";
import type { AgentEnd, AgentObserver, AgentRun } from "./agentrun.ts";
import type { Conversation } from "./conversation.ts";

/** An agent in the background. The model sees its result once, whether it asks for it or not. */
export class BackgroundAgent implements AgentObserver {
  readonly id: string;
  readonly #run: AgentRun;
  readonly #resultOf: (end: AgentEnd) => AgentResult;
  /** Of its parent's model, until its own is known. */
  #info: ModelInfo;
  /** Undefined while it waits, and when it takes no more messages. */
  #child: Conversation | undefined;
  #isOver = false;
  /** The messages that came while it waited. */
  readonly #early: Prompt[] = [];
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #startedAt = performance.now();
  /** The steps since the last look, as lines. */
  #steps: string[] = [];
  #stepsLeftOut = 0;
  #end: AgentEnd | undefined;
  /** Made when it is first asked for, since storing a long answer may fail. */
  #result: AgentResult | undefined;
  #isSeen = false;

  constructor(run: AgentRun, { resultOf, info }: { resultOf: (end: AgentEnd) => AgentResult; info: ModelInfo }) {
    this.id = run.wanted.id;
    this.#run = run;
    this.#resultOf = resultOf;
    this.#info = info;
  }

  /** Aborted when this agent is to stop. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Settles when it has begun, or has ended without that. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  get isUnseen(): boolean {
    return this.#end !== undefined && !this.#isSeen;
  }

  onOpen(child: Conversation): void {
    this.#child = child;
    this.#info = child.stance.info;
    for (const message of this.#early) child.inbox.add(message);
    this.#begun.resolve();
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
    this.#isOver = true;
  }

  end(end: AgentEnd): void {
    this.#end = end;
    this.#begun.resolve();
    this.#ended.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new KodaError("stopped", "TaskStop was called"));
    await this.ended;
  }

  send(message: string): ToolResult {
    if (this.#isOver) return failed(`The agent "${this.id}" has ended and takes no more messages.`);
    const fault = whyTooLong(message, this.#info);
    if (fault !== undefined) return failed(`The message was not sent: ${fault}.`);
    const prompt = [{ type: "text" as const, text: message }];
    if (this.#child === undefined) this.#early.push(prompt);
    else this.#child.inbox.add(prompt);
    return succeeded(`The agent "${this.id}" will read it before its next request.`);
  }

  describe(): string {
    const { wanted, request } = this.#run;
    const task = textOfParts(request.prompt).replace(/\s+/g, " ").trim();
    return `${this.id} ${wanted.name} ${this.#state()}: ${shortened(task, 100)}`;
  }

  #state(): string {
    if (this.#end !== undefined) return states[this.#end.outcome.status];
    const isWaiting = this.#child === undefined && !this.#isOver;
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    return `is ${isWaiting ? "waiting" : "running"}, ${seconds} s`;
  }

  /** The call that asks has not failed, whatever became of the agent. */
  look(): ToolResult {
    if (this.#end !== undefined) return { ...this.#seen(this.#end), ok: true };
    const steps = this.#steps.splice(0);
    const more = this.#stepsLeftOut === 0 ? [] : [`(${this.#stepsLeftOut} earlier steps)`];
    this.#stepsLeftOut = 0;
    const since = steps.length === 0 ? ["nothing since the last look"] : ["since the last look:", ...more, ...steps];
    return succeeded([this.describe(), ...since].join("\n"));
  }

  /** The result as a message for the model, unless it has seen it. */
  takeResult(): Input | undefined {
    if (this.#end === undefined || this.#isSeen) return undefined;
    const { name } = this.#run.wanted;
    return { kind: "result", item: answerNote(`"${this.id}" (${name})`, this.#seen(this.#end)) };
  }

  /** The result for the call that starts it, when it has ended without a beginning. */
  failure(): ToolResult | undefined {
    return this.#end !== undefined && this.#end.files === undefined ? this.#seen(this.#end) : undefined;
  }

  #seen(end: AgentEnd): AgentResult {
    this.#result ??= this.#resultOf(end);
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
