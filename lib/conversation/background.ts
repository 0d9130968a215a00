import { unlessAborted } from "../async/unlessaborted.ts";
import type { Input } from "../engine/turn.ts";
import type { KodaError } from "../errors.ts";
import type { BackgroundCalls } from "../tools/agentcalls.ts";
import type { ToolContext, ToolResult } from "../tools/tool.ts";
import type { BackgroundAgent } from "./backgroundagent.ts";
import type { InboxSource } from "./inbox.ts";

/** The order in which a recording gave answers to the model; there is none in other runs. */
export type AnswerOrder = {
  /** The agents whose answers a recording has next; undefined where none tells. */
  due(): readonly string[] | undefined;
  /** Called when the model is given answers, for a recording. */
  note(agents: readonly string[]): void;
};

/** The agents of a conversation that work in the background. Each result reaches the model once. */
export class Background implements BackgroundCalls, InboxSource {
  readonly #agents = new Map<string, BackgroundAgent>();
  readonly #order: () => AnswerOrder | undefined;
  #failure: KodaError | undefined;

  constructor(order: () => AnswerOrder | undefined) {
    this.#order = order;
  }

  add(agent: BackgroundAgent): void {
    this.#agents.set(agent.id, agent);
  }

  /** The turn fails with this error when it takes the next results. */
  fail(error: KodaError): void {
    this.#failure ??= error;
  }

  list(): readonly string[] {
    return [...this.#agents.values()].map((agent) => agent.describe());
  }

  /** The ids of those that have not ended. */
  get running(): readonly string[] {
    return [...this.#agents.values()].flatMap(({ id, isRunning }) => (isRunning ? id : []));
  }

  look(id: string): ToolResult | undefined {
    return this.#agents.get(id)?.look();
  }

  async stop(id: string, { signal }: Pick<ToolContext, "signal">): Promise<ToolResult | undefined> {
    const agent = this.#agents.get(id);
    if (agent !== undefined) await unlessAborted(agent.stop(), signal);
    return agent?.look();
  }

  send(id: string, message: string): ToolResult | undefined {
    return this.#agents.get(id)?.send(message);
  }

  get isEmpty(): boolean {
    return this.#failure === undefined && !this.#due.some((agent) => agent.isUnseen);
  }

  /** In a replay results come when they did, however fast the agents are. */
  async ready(): Promise<void> {
    if (this.#order()?.due() !== undefined) await Promise.all(this.#due.map(async (agent) => agent.ended));
  }

  /** The results that the model has not seen. */
  take(): Input[] {
    if (this.#failure !== undefined) throw this.#failure;
    const taken = this.#due.filter((agent) => agent.isUnseen);
    const inputs = taken.flatMap((agent) => agent.takeResult() ?? []);
    if (taken.length > 0) this.#order()?.note(taken.map(({ id }) => id));
    return inputs;
  }

  /** Settles when there is a result that the model has not seen, or when no agent is left. */
  async next(): Promise<void> {
    const running = [...this.#agents.values()].filter((agent) => agent.isRunning);
    if (this.isEmpty && running.length > 0) await Promise.race(running.map((agent) => agent.ended));
  }

  /** Those whose results are due once they have ended. */
  get #due(): readonly BackgroundAgent[] {
    const due = this.#order()?.due();
    return due === undefined ? [...this.#agents.values()] : due.flatMap((id) => this.#agents.get(id) ?? []);
  }
}
