import { within } from "../async/within.ts";
import type { Mode } from "../config/config.ts";
import type { HostPort } from "../egress/rules/host.ts";
import { AnswerJudge } from "../engine/answer.ts";
import { Compaction } from "../engine/compaction.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { runEndHooks } from "../engine/hooks.ts";
import { LoopGuard } from "../engine/loop.ts";
import type { Outcome } from "../engine/outcome.ts";
import { taskOf } from "../engine/task.ts";
import { type CallContext, type Progress, type Prompt, runTurn, type Turn } from "../engine/turn.ts";
import type { Verification } from "../engine/verify.ts";
import { KodaError } from "../errors.ts";
import type { JsonSchema } from "../model/model.ts";
import { noUsage } from "../model/usage.ts";
import { textOfParts } from "../session/content.ts";
import type { ItemOf } from "../session/item.ts";
import { promptTitle } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { finishName } from "../tools/finish.ts";
import type { GatedCall } from "../trust/gate.ts";
import { AgentPool } from "./agentpool.ts";
import { Approvals } from "./approvals.ts";
import { Authority } from "./authority.ts";
import { CallContexts } from "./callcontext.ts";
import type { ConversationParts, Earlier } from "./conversationparts.ts";
import { Inbox } from "./inbox.ts";
import { askHooks, openingItems } from "./opening.ts";
import { ProjectChanges } from "./projectchanges.ts";
import type { ModelStance, Stance } from "./stance.ts";
import { canEdit } from "./tools.ts";
import { type ConversationTotals, totalsOf } from "./totals.ts";
import type { Hands } from "./workspace.ts";

export type TurnRequest = {
  prompt: Prompt;
  /** The id of the submission that it is, in a chat. */
  submission?: string;
  /** The user's own words in it: the skills that they name are loaded. */
  words?: string | undefined;
  /** The JSON Schema that the answer has to match. */
  schema?: JsonSchema | undefined;
  verify?: Pick<Verification, "command" | "most"> | undefined;
  /** Without a prompt: it is for what has come meanwhile, and no task goes on. */
  isWoken?: boolean;
  /** The conversation is closed after this turn. */
  isLast?: boolean;
  /** Does the work of the turn in the place of its model, as a review does. */
  work?: typeof runTurn;
};

/** One conversation with a model, turn after turn. Closing it stops everything that it started. */
export class Conversation implements AsyncDisposable {
  readonly parts: ConversationParts;
  readonly authority: Authority;
  readonly agents: AgentPool;
  readonly inbox: Inbox;
  readonly changes: ProjectChanges;
  /** The ids of the commands of the user's own that run now. */
  readonly userCommands = new Set<string>();
  readonly #hands: Hands;
  readonly #contexts: CallContexts;
  readonly #compaction: Compaction;
  #stance: Stance;
  #progress: Progress | undefined;
  #verification: Verification | undefined;
  readonly #life = new AbortController();
  #running: Promise<void> | undefined;
  /** The hooks on the start of the session have run. */
  #hasBegun: boolean;
  #keepsSession = false;
  /** The length of the log when this run began. */
  readonly #lengthAtStart: number;

  /** Takes ownership of the session; of the workspace and the servers too, unless they are its parent's. */
  constructor(parts: ConversationParts) {
    const { host, session, stance, workspace, parent, patch, events, settings, earlier, elicit } = parts;
    this.parts = parts;
    this.#stance = stance;
    this.#lengthAtStart = session.info.length;
    this.#hasBegun = earlier?.session !== undefined;
    const { policy } = workspace;
    const asks = parent === undefined ? asking(parts) : undefined;
    this.authority = new Authority({
      session,
      stance: () => this.#stance,
      policy,
      parent: parent?.authority,
      approvals: asks?.aboutCall,
    });
    this.agents = new AgentPool(this);
    this.inbox = new Inbox(this.agents.background);
    this.#hands = workspace.open((event) => events.post(event), asks?.aboutHost);
    const contextWindow = () => this.#stance.info.contextWindow;
    const { agents, authority } = this;
    this.#contexts = new CallContexts({
      session,
      workspace,
      hands: this.#hands,
      agents,
      authority,
      contextWindow,
      elicit,
    });
    const isResumed = parent === undefined;
    this.#compaction = new Compaction({ ...settings.loaded.config.compaction, isResumed, now: () => host.traffic.now });
    this.changes = new ProjectChanges({ ...parts, policy, patch, parent: parent?.changes });
    if (parent === undefined) host.add(this);
    if (patch === undefined) return;
    workspace.atRest = async () => {
      for (const notice of await patch.take(host.signal)) events.post(notice);
    };
  }

  /** The first event. A new session has the title that its first prompt will give it. */
  start({ prompt }: Pick<TurnRequest, "prompt"> = { prompt: [] }): EventOf<"session.start"> {
    const { start, session } = this.parts;
    return { ...start, title: session.info.title || promptTitle(textOfParts(prompt)) };
  }

  get stance(): Stance {
    return this.#stance;
  }

  /** Holds from the next turn; the mode for agents that run now from their next call. */
  change({ mode = this.#stance.allowance.mode, ...model }: Partial<ModelStance> & { mode?: Mode }): void {
    this.#stance = { ...this.#stance, ...model, allowance: { ...this.#stance.allowance, mode } };
  }

  /** One turn. The signal ends this turn only. */
  async *run(request: TurnRequest, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
    if (this.#running !== undefined) throw new Error(`a turn of session ${this.parts.session.id} is running`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    const { start, session, agents, skills, events, environment } = this.parts;
    const turn = this.#turn(request, this.changes.begin());
    try {
      const stop = AbortSignal.any([signal, this.#life.signal]);
      const source = this.#hasBegun ? undefined : this.parts.earlier === undefined ? start.source : "clear";
      const words = yield* askHooks(turn, { source, request }, stop);
      const left = !this.#hasBegun && session.resumed ? agents?.leftBefore(this) : [];
      this.#hasBegun = true;
      const { contextWindow } = turn.info;
      const told = {
        environment: environment(this.#stance, this.authority.mode),
        left: left ?? [],
        skills,
        events,
        contextWindow,
      };
      const opening = openingItems(request, told);
      return yield* (request.work ?? runTurn)(turn, [...opening, ...words], stop);
    } finally {
      if (turn.progress.mayHaveWritten) this.parts.parent?.noteWriting();
      const ended = this.changes.end();
      this.#running = undefined;
      const notes = this.inbox.takeNotes();
      if (notes.length > 0) session.append(...notes);
      resolve();
      await ended;
    }
  }

  /** Replaces older messages by a summary. Returns false when there were none to replace. */
  async *compact(signal: AbortSignal): AsyncGenerator<Event, boolean> {
    const turn = this.#turn({ prompt: [] }, this.changes.begin());
    try {
      return yield* this.#compaction.now(turn, signal);
    } finally {
      await this.changes.end();
    }
  }

  /** The ids of what runs beside the turns, and ends with the workspace: commands and agents. */
  get background(): readonly string[] {
    const tasks = this.#hands.tasks.list().filter(({ state }) => state.status === "running");
    return [...tasks.map(({ id }) => id), ...this.agents.background.running, ...this.userCommands];
  }

  /** The context of a command of the user's own. */
  contextOfUser(id: string): CallContext {
    return { ...this.#contexts.of(id), policy: this.authority.userPolicy };
  }

  /** Adds to the history what the model is to read: at once, or before the next request of the turn that runs. */
  note(item: ItemOf<"note">): void {
    if (this.#running === undefined) this.parts.session.append(item);
    else this.inbox.addNote(item);
  }

  /** For the next conversation of a chat. Its session is not closed with it then. */
  handOver(): Earlier & { session: Session } {
    const { ledger, session } = this.parts;
    this.#keepsSession = true;
    const { executableChanges: executable } = this.totals;
    return { session, ledger, paths: this.changes.paths, agents: this.agents.counts, executable };
  }

  /** An agent of this conversation may have written. */
  noteWriting(): void {
    if (this.#progress !== undefined) this.#progress.mayHaveWritten = true;
  }

  /** The hooks on the end of the session, which has happened already. */
  async *end({ status, text }: Outcome, signal: AbortSignal): AsyncGenerator<Event, void> {
    if (this.parts.hooks?.has("session.end") !== true) return;
    const ending = { ...this.#turnBase(this.changes.begin()), progress: { work: Promise.resolve() } };
    try {
      yield* runEndHooks(ending, { on: "session.end", status, last_message: text }, signal);
    } finally {
      await this.changes.end();
    }
  }

  /** The totals of all turns so far. */
  get totals(): ConversationTotals {
    return totalsOf(this, this.#verification);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack();
    const { host, session, workspace, servers, parent } = this.parts;
    closing.defer(() => host.delete(this));
    if (!this.#keepsSession) closing.use(session);
    if (parent === undefined) closing.use(workspace);
    else closing.defer(() => workspace.close(this.#hands));
    if (parent === undefined) closing.use(servers);
    closing.use(this.agents);
    this.#life.abort(new KodaError("reader_gone", "the conversation was closed"));
    // Its reader may have stopped reading, and then it never ends.
    if (this.#running !== undefined) await within(graceMs, this.#running);
  }

  #turn({ prompt, schema, verify, isLast = false }: TurnRequest, changes: Turn["changes"]): Turn {
    this.#verification = verify && { ...verify, attempts: 0, passed: false };
    this.authority.begin({ skillsSince: prompt.length === 0 ? 0 : this.#lengthAtStart });
    this.#progress = {
      text: "",
      usage: noUsage,
      mayHaveWritten: false,
      hasRunStopHooks: false,
      work: Promise.resolve(),
    };
    const { session, ledger, system } = this.parts;
    const { model, info, catalog } = this.#stance;
    const { authority } = this;
    const { tools } = catalog.current;
    const offers = (tool: string) => tools.some(({ name }) => name === tool);
    return {
      ...this.#turnBase(changes),
      model,
      info,
      catalog,
      gate: authority.gate,
      system,
      ledger,
      compaction: this.#compaction,
      ...(this.#verification !== undefined && { verification: this.#verification }),
      task: taskOf(prompt, { mayWrite: authority.turnMode === "auto" && canEdit(tools), todo: session.todo }),
      judge: new AnswerJudge({ schema, requiresFinish: offers(finishName), counts: ledger.calls }),
      activeSkills: () => authority.activeSkills(),
      environment: () => this.parts.environment(this.#stance, authority.turnMode),
      inbox: this.inbox,
      settle: async () => (isLast ? this.agents[Symbol.asyncDispose]() : undefined),
      loop: new LoopGuard(),
      moreRequests: this.parts.questions?.askForMore,
      progress: this.#progress,
      heard: () => this.parts.host.clocks.heard(),
    };
  }

  /** The part of a turn that its commands need. */
  #turnBase(changes: Turn["changes"]) {
    const { session, events, workspace, host, watchKey, hooks } = this.parts;
    return {
      session,
      events,
      changes,
      watchKey,
      hooks,
      contextOf: this.#contexts.of,
      repositories: workspace.repositories,
      locks: workspace.locks,
      waits: () => host.clocks.pauseIdle(),
    };
  }
}

/** Asks the user. Without a user to ask, only what the configuration approves may run. */
function asking({ approvals = new Approvals(), settings, workspace }: ConversationParts) {
  const { root: cwd, home } = workspace.policy;
  const saved = settings.loaded.config.approvals.commands;
  const { hosts } = approvals;
  return {
    aboutCall: (call: GatedCall, rule: string) => approvals.ask(call, { rule, cwd, home, saved }),
    aboutHost: hosts && ((target: HostPort, call: string | undefined) => hosts.ask({ target, call, cwd })),
  };
}

/** A turn that is being stopped has this long to record its end. */
const graceMs = 3_000;
