import { ResultCache } from "../agents/resultcache.ts";
import { Slots } from "../async/slots.ts";
import { unlessAborted } from "../async/unlessaborted.ts";
import type { AgentTag, Event } from "../engine/event.ts";
import { type Outcome, outcomeOfError } from "../engine/outcome.ts";
import { schemaFault } from "../engine/schemacheck.ts";
import type { Input } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import type { AgentCalls, AgentRequest } from "../tools/agentcalls.ts";
import type { Item } from "../session/item.ts";
import { failed, succeeded, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { type AgentResult, agentResult } from "./agentresult.ts";
import { type AgentRun, endUnbegun, runAgent } from "./agentrun.ts";
import { BackgroundAgent } from "./backgroundagent.ts";
import type { Conversation } from "./conversation.ts";
import type { InboxSource } from "./inbox.ts";

/** An agent to open: `call` is the id of the call that starts it. */
export type WantedAgent = AgentTag & { call: string };

/** Opens the agents of a conversation. */
export type AgentSource = {
  open(parent: Conversation, wanted: WantedAgent, signal: AbortSignal): Promise<Conversation>;
  /** The part of an agent that its answer depends on beside its prompt; undefined for a fork. */
  keyOf(parent: Conversation, name: string): string | undefined;
  /** The greatest number in the ids of agents of earlier runs. */
  lastBefore(parent: Conversation): number;
  /** Notes on those that were in the background then. */
  leftBefore(parent: Conversation): readonly Item[];
  /** The agents in the background whose answers a recording has next; undefined where none tells. */
  due(): readonly string[] | undefined;
  /** Called when the model is given answers, for a recording. */
  note(agents: readonly string[]): void;
};

type Started = { tag: AgentTag; child: Conversation; request: AgentRequest; call: string };

/** More of them wait. */
const mostAgents = 8;

/** The agents that a conversation has started. Those in the background live until the conversation is closed. */
export class AgentPool implements AgentCalls, InboxSource, AsyncDisposable {
  #diverged: KodaError | undefined;
  readonly counts = { ok: 0, failed: 0, cancelled: 0 };
  readonly #parent: Conversation;
  readonly #slots = new Slots(mostAgents);
  readonly #life = new AbortController();
  readonly #running = new Set<Promise<Outcome>>();
  readonly #background = new Map<string, BackgroundAgent>();
  readonly #answers: ResultCache<ToolResult>;
  #lastNumber: number | undefined;

  constructor(parent: Conversation) {
    this.#parent = parent;
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
    if (background) return this.#runBehind(started, counted.move());
    const outcome = await this.#follow(this.#runOf(started), AbortSignal.any([signal, this.#life.signal]));
    const diverged = divergenceIn(outcome);
    if (diverged !== undefined) throw diverged;
    const result = this.#resultOf(started)(outcome);
    if (outcome.status === "done" && outcome.incomplete === undefined) keep?.(result, child.parts.session.files);
    return result;
  }

  #resultOf({ child, call }: Started): (outcome: Outcome) => AgentResult {
    const asked = { session: child.parts.session.id, call, outputs: this.#parent.parts.session.outputs };
    return (outcome) => agentResult(outcome, asked);
  }

  #runBehind(started: Started, counted: Disposable): ToolResult {
    const { tag, child, request } = started;
    const agent = new BackgroundAgent({ tag, child, prompt: request.prompt, resultOf: this.#resultOf(started) });
    this.#background.set(tag.id, agent);
    const { post, ...run } = this.#runOf(started);
    const observed = {
      ...run,
      post: (event: Event) => (agent.observe(event), post(event)),
      onOver: () => agent.close(),
    };
    const life = AbortSignal.any([agent.signal, this.#life.signal]);
    void this.#follow(observed, life, (outcome) => {
      counted[Symbol.dispose]();
      this.#diverged ??= divergenceIn(outcome);
      agent.end(outcome);
    });
    const told = succeeded(`The agent runs in the background as "${tag.id}".`);
    return { ...told, agent: child.parts.session.id, background: tag.id };
  }

  /** Before any of a reply sends a request, all of them are counted: they share what is left. */
  #count(): DisposableStack {
    const { ledger } = this.#parent.parts;
    const counted = new DisposableStack();
    ledger.agents++;
    counted.defer(() => void ledger.agents--);
    return counted;
  }

  #runOf({ tag, child, request: { prompt, schema } }: Started): AgentRun {
    const { events } = this.#parent.parts;
    const request = { prompt: [{ type: "text" as const, text: prompt }], schema };
    return { tag, child, request, post: (event) => events.post(event) };
  }

  list(): readonly string[] {
    return [...this.#background.values()].map((agent) => agent.describe());
  }

  look(id: string): ToolResult | undefined {
    return this.#background.get(id)?.look();
  }

  async stop(id: string, { signal }: Pick<ToolContext, "signal">): Promise<ToolResult | undefined> {
    const agent = this.#background.get(id);
    if (agent !== undefined) await unlessAborted(agent.stop(), signal);
    return agent?.look();
  }

  send(id: string, message: string): ToolResult | undefined {
    return this.#background.get(id)?.send(message);
  }

  get isEmpty(): boolean {
    return this.#diverged === undefined && !this.#due.some(([, agent]) => agent.isUnseen);
  }

  /** In a replay results come when they did, however fast the agents are. */
  async ready(): Promise<void> {
    if (this.#source?.due() !== undefined) await Promise.all(this.#due.map(async ([, agent]) => agent.ended));
  }

  /** The results that the model has not seen. */
  take(): Input[] {
    if (this.#diverged !== undefined) throw this.#diverged;
    const taken = this.#due.flatMap(([id, agent]) => {
      const input = agent.takeResult();
      return input === undefined ? [] : [{ id, input }];
    });
    if (taken.length > 0) this.#source?.note(taken.map(({ id }) => id));
    return taken.map(({ input }) => input);
  }

  /** Settles when there is a result that the model has not seen, or when no agent runs in the background. */
  async next(): Promise<void> {
    const running = [...this.#background.values()].filter((agent) => agent.isRunning);
    if (this.isEmpty && running.length > 0) await Promise.race(running.map((agent) => agent.ended));
  }

  /** The agents in the background whose results are due once they have ended. */
  get #due(): readonly (readonly [id: string, agent: BackgroundAgent])[] {
    const due = this.#source?.due();
    if (due === undefined) return [...this.#background];
    const agents = due.map((id) => [id, this.#background.get(id)] as const);
    return agents.flatMap(([id, agent]) => (agent === undefined ? [] : [[id, agent] as const]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new KodaError("stopped", "the run ended"));
    await Promise.all(this.#running);
  }

  /** The run of an agent, counted. It never rejects. */
  async #follow(run: AgentRun, signal: AbortSignal, onEnd?: (outcome: Outcome) => void): Promise<Outcome> {
    const running = this.#counted(run, signal, onEnd);
    this.#running.add(running);
    const outcome = await running;
    this.#running.delete(running);
    return outcome;
  }

  async #counted(run: AgentRun, signal: AbortSignal, onEnd?: (outcome: Outcome) => void): Promise<Outcome> {
    const outcome = await this.#inSlot(run, signal);
    this.counts[endOf(outcome, signal)]++;
    onEnd?.(outcome);
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
