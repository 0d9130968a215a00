import { ResultCache } from "../agents/resultcache.ts";
import { KeyedLocks } from "../async/keyedlocks.ts";
import { SerialQueue } from "../async/serialqueue.ts";
import { Slots } from "../async/slots.ts";
import type { Outcome } from "../engine/outcome.ts";
import { schemaFault } from "../engine/schemacheck.ts";
import { KodaError } from "../errors.ts";
import type { Item } from "../session/item.ts";
import type { AgentCalls, AgentRequest } from "../tools/agentcalls.ts";
import { failed, succeeded, type ToolContext, type ToolResult } from "../tools/tool.ts";
import { type AgentResult, agentResult } from "./agentresult.ts";
import { type AgentEnd, type AgentRun, runAgent, type WantedAgent } from "./agentrun.ts";
import { type AnswerOrder, Background } from "./background.ts";
import { BackgroundAgent } from "./backgroundagent.ts";
import type { Conversation } from "./conversation.ts";

/** Opens an agent by the id by which the model will know it. */
type OpenAgent = (id: string, signal: AbortSignal) => Promise<Conversation>;

/** Opens the agents of a conversation. */
export type AgentSource = AnswerOrder & {
  /** A fork will have the history that its parent has now. */
  prepare(parent: Conversation, wanted: WantedAgent): OpenAgent;
  /** The part of an agent that its answer depends on beside its prompt; undefined for a fork. */
  keyOf(parent: Conversation, name: string): string | undefined;
  /** The greatest number in the ids of agents of earlier runs. */
  lastBefore(parent: Conversation): number;
  /** Notes on those that were in the background then. */
  leftBefore(parent: Conversation): readonly Item[];
};

/** An agent that koda itself starts. */
type OwnAgent = Required<Pick<AgentRequest, "agent" | "schema">> & { prompt: () => Promise<string> };

/** More of them wait. */
const mostAgents = 8;

/** The agents that a conversation has started. Those in the background live until the conversation is closed. */
export class AgentPool implements AgentCalls, AsyncDisposable {
  readonly counts: { ok: number; failed: number; cancelled: number };
  readonly background: Background;
  readonly #parent: Conversation;
  readonly #slots = new Slots(mostAgents);
  readonly #life = new AbortController();
  readonly #running = new Set<Promise<AgentEnd>>();
  readonly #answers: ResultCache<ToolResult>;
  /** Calls that ask the same take turns: the answer of the first may be that of the others. */
  readonly #asking = new KeyedLocks();
  readonly #admissions = new SerialQueue();
  #lastNumber: number | undefined;

  constructor(parent: Conversation) {
    this.#parent = parent;
    this.counts = { ok: 0, failed: 0, cancelled: 0, ...parent.parts.earlier?.agents };
    this.background = new Background(() => this.#source);
    this.#answers = new ResultCache(() => parent.parts.workspace.generation);
  }

  /** Absent where no agent may be started. */
  get #source(): AgentSource | undefined {
    return this.#parent.parts.agents;
  }

  async start(request: AgentRequest, { call, signal }: Pick<ToolContext, "call" | "signal">): Promise<ToolResult> {
    if (this.#source === undefined) return failed("The agent was not started: an agent cannot start agents");
    const { agent: name, prompt, background = false } = request;
    const wanted = { name, prompt, call, session: Bun.randomUUIDv7() };
    const open = this.#source.prepare(this.#parent, wanted);
    const key = background ? undefined : this.#keyOf(request);
    using _ = await this.#asking.hold(key === undefined ? [] : [key], signal);
    const known = key === undefined ? undefined : this.#answers.find(key);
    if (known !== undefined) return known;
    using counted = this.#count();
    const { id, refusal } = await this.#admissions.run(() => this.#admit(request));
    if (refusal !== undefined) return failed(`The agent was not started: ${refusal}`);
    const run = this.#runOf({ ...wanted, id }, open, request);
    if (background) return await this.#startBehind(run, counted.move());
    const keep = key === undefined ? undefined : this.#answers.begin(key);
    const { outcome, files } = await this.#run(run, AbortSignal.any([signal, this.#life.signal]));
    const diverged = divergenceIn(outcome);
    if (diverged !== undefined) throw diverged;
    const result = this.#resultOf(run, { outcome, files });
    if (outcome.status === "done" && outcome.incomplete === undefined && files !== undefined) keep?.(result, files);
    return result;
  }

  /** Runs an agent that no call has started to its end. It only reads. Its prompt, which may be large, is made late. */
  async run({ agent: name, prompt: promptOf, schema }: OwnAgent, signal: AbortSignal): Promise<Outcome> {
    if (this.#source === undefined) throw new KodaError("usage", "an agent cannot start agents");
    using _ = this.#count();
    const { id, refusal } = await this.#admissions.run(() => this.#admit({ schema }));
    if (refusal !== undefined) throw new Error(refusal);
    const prompt = await promptOf();
    const wanted = { name, prompt, call: "", session: Bun.randomUUIDv7() };
    const open = this.#source.prepare(this.#parent, wanted);
    const openReading: OpenAgent = async (...asked) => {
      const child = await open(...asked);
      child.change({ mode: "plan" });
      return child;
    };
    const run = this.#runOf({ ...wanted, id }, openReading, { agent: name, prompt, schema });
    return (await this.#run(run, AbortSignal.any([signal, this.#life.signal]))).outcome;
  }

  /** One after the other, so that the calls of a reply have ids in their order. */
  async #admit({
    schema,
  }: Pick<AgentRequest, "schema">): Promise<{ id: string; refusal?: never } | { id?: never; refusal: string }> {
    const fault = schema && (await schemaFault(schema));
    if (fault !== undefined) return { refusal: `its schema cannot be used: ${fault}` };
    this.#lastNumber ??= this.#source?.lastBefore(this.#parent) ?? 0;
    return { id: `a${++this.#lastNumber}` };
  }

  #runOf(wanted: AgentRun["wanted"], open: OpenAgent, { prompt, schema }: AgentRequest): AgentRun {
    const { events } = this.#parent.parts;
    return {
      wanted,
      open: (signal) => open(wanted.id, signal),
      request: { prompt: [{ type: "text", text: prompt }], schema },
      post: (event) => events.post(event),
    };
  }

  /** Settles when the agent is open, or has to wait for others. */
  async #startBehind(run: AgentRun, counted: Disposable): Promise<ToolResult> {
    const { info } = this.#parent.stance;
    const agent = new BackgroundAgent(run, { resultOf: (end) => this.#resultOf(run, end), info });
    this.background.add(agent);
    const waits = this.#slots.areTaken;
    void this.#run({ ...run, observer: agent }, AbortSignal.any([agent.signal, this.#life.signal]), (end) => {
      counted[Symbol.dispose]();
      const diverged = divergenceIn(end.outcome);
      if (diverged !== undefined) this.background.fail(diverged);
      agent.end(end);
    });
    if (!waits) await agent.begun;
    const failure = agent.failure();
    if (failure !== undefined) return failure;
    const { id, session } = run.wanted;
    const told = waits
      ? `The agent waits, since ${mostAgents} are running already. It will run in the background as "${id}".`
      : `The agent runs in the background as "${id}".`;
    return { ...succeeded(told), agent: session, background: id };
  }

  #resultOf({ wanted: { session, call } }: AgentRun, end: AgentEnd): AgentResult {
    return agentResult(end, { session, call, outputs: this.#parent.parts.session.outputs });
  }

  /** Before any of a reply sends a request, all of them are counted: they share what is left. */
  #count(): DisposableStack {
    const { ledger } = this.#parent.parts;
    const counted = new DisposableStack();
    ledger.agents++;
    counted.defer(() => void ledger.agents--);
    return counted;
  }

  /** Runs an agent to its end, when there is a slot, and counts it. It never rejects. */
  async #run(run: AgentRun, signal: AbortSignal, onEnd?: (end: AgentEnd) => void): Promise<AgentEnd> {
    const running = this.#inSlot(run, signal).then((end) => {
      const counted = countedAs(end, signal);
      if (counted !== undefined) this.counts[counted]++;
      onEnd?.(end);
      return end;
    });
    this.#running.add(running);
    const end = await running;
    this.#running.delete(running);
    return end;
  }

  async #inSlot(run: AgentRun, signal: AbortSignal): Promise<AgentEnd> {
    using held = new DisposableStack();
    const open = async () => {
      held.use(await this.#slots.take(signal));
      return await run.open(signal);
    };
    return await runAgent({ ...run, open }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new KodaError("stopped", "the run ended"));
    await Promise.all(this.#running);
  }

  #keyOf({ agent, prompt, schema }: AgentRequest): string | undefined {
    const key = this.#source?.keyOf(this.#parent, agent);
    return key && JSON.stringify([agent, key, prompt, schema]);
  }
}

/** An agent that asks something else than in the recording ends the replay. */
function divergenceIn(outcome: Outcome): KodaError | undefined {
  if (outcome.status !== "failed" || outcome.error.code !== "replay") return undefined;
  return new KodaError("replay", outcome.error.message);
}

/** An agent that had failed before it was stopped has failed. One that could not be opened is only a failed call. */
function countedAs({ outcome, files }: AgentEnd, { reason }: AbortSignal): keyof AgentPool["counts"] | undefined {
  if (outcome.status === "done") return "ok";
  if (outcome.status === "failed" && files === undefined) return undefined;
  return reason instanceof KodaError && reason.code === outcome.error.code ? "cancelled" : "failed";
}
