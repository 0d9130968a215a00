import { ResultCache } from "../agents/resultcache.ts";
import { Slots } from "../async/slots.ts";
import type { AgentTag } from "../engine/event.ts";
import { type Outcome, outcomeOfError } from "../engine/outcome.ts";
import { schemaFault } from "../engine/schemacheck.ts";
import { KodaError } from "../errors.ts";
import type { Item } from "../session/item.ts";
import type { AgentCalls, AgentRequest } from "../tools/agentcalls.ts";
import { failed, succeeded, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { type AgentResult, agentResult } from "./agentresult.ts";
import { type AgentRun, endUnbegun, runAgent } from "./agentrun.ts";
import { type AnswerOrder, Background } from "./background.ts";
import { BackgroundAgent } from "./backgroundagent.ts";
import type { Conversation } from "./conversation.ts";

/** An agent to open: `call` is the id of the call that starts it. */
export type WantedAgent = AgentTag & { call: string };

/** Opens the agents of a conversation. */
export type AgentSource = AnswerOrder & {
  open(parent: Conversation, wanted: WantedAgent, signal: AbortSignal): Promise<Conversation>;
  /** The part of an agent that its answer depends on beside its prompt; undefined for a fork. */
  keyOf(parent: Conversation, name: string): string | undefined;
  /** The greatest number in the ids of agents of earlier runs. */
  lastBefore(parent: Conversation): number;
  /** Notes on those that were in the background then. */
  leftBefore(parent: Conversation): readonly Item[];
};

type Started = { tag: AgentTag; child: Conversation; request: AgentRequest; call: string };

/** More of them wait. */
const mostAgents = 8;

/** The agents that a conversation has started. Those in the background live until the conversation is closed. */
export class AgentPool implements AgentCalls, AsyncDisposable {
  readonly counts = { ok: 0, failed: 0, cancelled: 0 };
  readonly background: Background;
  readonly #parent: Conversation;
  readonly #slots = new Slots(mostAgents);
  readonly #life = new AbortController();
  readonly #running = new Set<Promise<Outcome>>();
  readonly #answers: ResultCache<ToolResult>;
  #lastNumber: number | undefined;

  constructor(parent: Conversation) {
    this.#parent = parent;
    this.background = new Background(() => this.#source);
    this.#answers = new ResultCache(() => parent.parts.workspace.generation);
  }

  /** Absent where no agent may be started. */
  get #source(): AgentSource | undefined {
    return this.#parent.parts.agents;
  }

  async start(request: AgentRequest, { call, signal }: Pick<ToolContext, "call" | "signal">): Promise<ToolResult> {
    const { agent: name, schema, background = false } = request;
    const key = background ? undefined : this.#keyOf(request);
    const known = key === undefined ? undefined : this.#answers.find(key);
    if (known !== undefined) return known;
    // Before anything is awaited, so that the calls of a reply have ids in their order.
    const tag = { id: this.#nextId(), name };
    using counted = this.#count();
    const keep = key === undefined ? undefined : this.#answers.begin(key);
    const fault = schema && (await schemaFault(schema));
    if (fault !== undefined) return failed(`The agent was not started: its schema cannot be used: ${fault}`);
    let child: Conversation;
    try {
      if (this.#source === undefined) throw new KodaError("usage", "an agent cannot start agents");
      child = await this.#source.open(this.#parent, { ...tag, call }, signal);
    } catch (error) {
      if (!(error instanceof KodaError) || signal.aborted) throw error;
      return failed(`The agent was not started: ${error.message}`);
    }
    const started = { tag, child, request, call };
    if (background) return this.#startBehind(started, counted.move());
    const outcome = await this.#run(this.#runOf(started), AbortSignal.any([signal, this.#life.signal]));
    const diverged = divergenceIn(outcome);
    if (diverged !== undefined) throw diverged;
    const result = this.#resultOf(started)(outcome);
    if (outcome.status === "done" && outcome.incomplete === undefined) keep?.(result, child.parts.session.files);
    return result;
  }

  #startBehind(started: Started, counted: Disposable): ToolResult {
    const { tag, child, request } = started;
    const agent = new BackgroundAgent({ tag, child, prompt: request.prompt, resultOf: this.#resultOf(started) });
    this.background.add(agent);
    const run = { ...this.#runOf(started), observer: agent };
    void this.#run(run, AbortSignal.any([agent.signal, this.#life.signal]), (outcome) => {
      counted[Symbol.dispose]();
      const diverged = divergenceIn(outcome);
      if (diverged !== undefined) this.background.fail(diverged);
      agent.end(outcome);
    });
    const told = succeeded(`The agent runs in the background as "${tag.id}".`);
    return { ...told, agent: child.parts.session.id, background: tag.id };
  }

  #resultOf({ child, call }: Started): (outcome: Outcome) => AgentResult {
    const asked = { session: child.parts.session.id, call, outputs: this.#parent.parts.session.outputs };
    return (outcome) => agentResult(outcome, asked);
  }

  #runOf({ tag, child, request: { prompt, schema } }: Started): AgentRun {
    const { events } = this.#parent.parts;
    const request = { prompt: [{ type: "text" as const, text: prompt }], schema };
    return { tag, child, request, post: (event) => events.post(event) };
  }

  /** Before any of a reply sends a request, all of them are counted: they share what is left. */
  #count(): DisposableStack {
    const { ledger } = this.#parent.parts;
    const counted = new DisposableStack();
    ledger.agents++;
    counted.defer(() => void ledger.agents--);
    return counted;
  }

  /** Runs an agent to its end and counts it. It never rejects. */
  async #run(run: AgentRun, signal: AbortSignal, onEnd?: (outcome: Outcome) => void): Promise<Outcome> {
    const running = this.#inSlot(run, signal).then((outcome) => {
      this.counts[endOf(outcome, signal)]++;
      onEnd?.(outcome);
      return outcome;
    });
    this.#running.add(running);
    const outcome = await running;
    this.#running.delete(running);
    return outcome;
  }

  async #inSlot(run: AgentRun, signal: AbortSignal): Promise<Outcome> {
    try {
      using _ = await this.#slots.take(signal);
      return await runAgent(run, signal);
    } catch (error) {
      return await endUnbegun(run, outcomeOfError(error, signal, ""));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new KodaError("stopped", "the run ended"));
    await Promise.all(this.#running);
  }

  #keyOf({ agent, prompt, schema }: AgentRequest): string | undefined {
    const key = this.#source?.keyOf(this.#parent, agent);
    return key && JSON.stringify([agent, key, prompt, schema]);
  }

  #nextId(): string {
    this.#lastNumber ??= this.#source?.lastBefore(this.#parent) ?? 0;
    return `a${++this.#lastNumber}`;
  }
}

/** An agent that asks something else than in the recording ends the replay. */
function divergenceIn(outcome: Outcome): KodaError | undefined {
  if (outcome.status !== "failed" || outcome.error.code !== "replay") return undefined;
  return new KodaError("replay", outcome.error.message);
}

/** An agent that had failed before it was stopped has failed. */
function endOf(outcome: Outcome, { reason }: AbortSignal): keyof AgentPool["counts"] {
  if (outcome.status === "done") return "ok";
  return reason instanceof KodaError && reason.code === outcome.error.code ? "cancelled" : "failed";
}
