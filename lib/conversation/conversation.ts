import type { Prompts } from "../agents/prompts.ts";
import type { Skills } from "../agents/skills.ts";
import { within } from "../async/within.ts";
import type { Mode } from "../config/config.ts";
import { AnswerJudge } from "../engine/answer.ts";
import type { OwnOutput } from "../engine/changes.ts";
import { Compaction } from "../engine/compaction.ts";
import type { Totals } from "../engine/end.ts";
import type { Event, EventOf, Events } from "../engine/event.ts";
import type { KeyWatch } from "../engine/exposure.ts";
import { type Hooks, runEndHooks } from "../engine/hooks.ts";
import { costOf, type Ledger } from "../engine/ledger.ts";
import { LoopGuard } from "../engine/loop.ts";
import type { Outcome } from "../engine/outcome.ts";
import { taskOf } from "../engine/task.ts";
import { type Progress, type Prompt, runTurn, type Turn } from "../engine/turn.ts";
import type { Verification } from "../engine/verify.ts";
import { KodaError } from "../errors.ts";
import type { Servers } from "../mcp/servers.ts";
import type { JsonSchema } from "../model/model.ts";
import { noUsage } from "../model/usage.ts";
import { textOfParts } from "../session/content.ts";
import type { ActiveSkill, ItemOf } from "../session/item.ts";
import { promptTitle } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { finishName } from "../tools/finish.ts";
import type { Claim, Effect } from "../trust/claim.ts";
import { lowerMode } from "../trust/mode.ts";
import { executableChanges } from "../worktree/executable.ts";
import { AgentPool, type AgentSource } from "./agentpool.ts";
import { CallContexts } from "./callcontext.ts";
import type { Host } from "./host.ts";
import { Inbox } from "./inbox.ts";
import { askHooks, openingItems } from "./opening.ts";
import { ProjectChanges } from "./projectchanges.ts";
import type { RunPatch } from "./runpatch.ts";
import type { Settings } from "./settings.ts";
import type { Stance } from "./stance.ts";
import { canEdit } from "./tools.ts";
import type { Hands, Workspace } from "./workspace.ts";

export type TurnRequest = {
  prompt: Prompt;
  /** The user's own words in it: the skills that they name are loaded. */
  words?: string | undefined;
  /** The JSON Schema that the answer has to match. */
  schema?: JsonSchema | undefined;
  verify?: Pick<Verification, "command" | "most"> | undefined;
  /** The conversation is closed after this turn. */
  isLast?: boolean;
};

export type ConversationParts = {
  host: Host;
  session: Session;
  stance: Stance;
  system: string;
  workspace: Workspace;
  servers: Servers | undefined;
  /** The conversation that started this one, which is then an agent: it has the workspace and the servers of that. */
  parent?: Conversation;
  /** Absent where no agent may be started. */
  agents?: AgentSource;
  ledger: Ledger;
  events: Events;
  skills: Skills;
  prompts: Prompts;
  /** The first event, without the title of a new session. */
  start: EventOf<"session.start">;
  /** The environment as far as the model does not know it yet. */
  environment: (mode: Mode) => ItemOf<"environment"> | undefined;
  settings: Pick<Settings, "env" | "dataDirectory" | "database" | "loaded">;
  own: OwnOutput;
  /** For --patch. */
  patch?: RunPatch | undefined;
  watchKey: KeyWatch;
  /** Absent when the user has configured none. */
  hooks?: Hooks | undefined;
  /** The command line that continues the session; null when nothing is kept. */
  resume: string | null;
};

/** One conversation with a model, turn after turn. Closing it stops everything that it started. */
export class Conversation implements AsyncDisposable {
  readonly parts: ConversationParts;
  readonly agents: AgentPool;
  readonly inbox: Inbox;
  readonly changes: ProjectChanges;
  readonly #hands: Hands;
  readonly #contexts: CallContexts;
  readonly #compaction: Compaction;
  #stance: Stance;
  /** That of the running turn, or of the last one. */
  #turnMode: Mode;
  /** Skills that were loaded after this place in the log narrow the turn. */
  #skillsSince: number;
  #progress: Progress | undefined;
  #verification: Verification | undefined;
  readonly #life = new AbortController();
  #running: Promise<void> | undefined;
  /** The hooks on the start of the session have run. */
  #hasBegun = false;
  /** The length of the log when this run began. */
  readonly #lengthAtStart: number;

  /** Takes ownership of the session; of the workspace and the servers too, unless they are its parent's. */
  constructor(parts: ConversationParts) {
    const { host, session, stance, workspace, parent, patch, events, settings } = parts;
    this.parts = parts;
    this.#stance = stance;
    this.#turnMode = stance.allowance.mode;
    this.#lengthAtStart = session.info.length;
    this.#skillsSince = session.info.length;
    this.agents = new AgentPool(this);
    this.inbox = new Inbox(this.agents);
    this.#hands = workspace.open((event) => events.post(event));
    const { contextWindow } = stance.info;
    const owner = { session, workspace, hands: this.#hands, agents: this.agents, contextWindow };
    const isResumed = parent === undefined;
    this.#contexts = new CallContexts({ ...owner, isAgent: !isResumed });
    this.#compaction = new Compaction({ ...settings.loaded.config.compaction, isResumed, now: () => host.traffic.now });
    this.changes = new ProjectChanges({ ...parts, policy: workspace.policy, patch, parent: parent?.changes });
    if (parent === undefined) host.add(this);
    if (patch === undefined) return;
    workspace.atRest = async () => {
      for (const notice of await patch.take(host.signal)) events.post(notice);
    };
  }

  /** The first event. A new session has the title that its first prompt will give it. */
  start({ prompt }: TurnRequest): EventOf<"session.start"> {
    const { start, session } = this.parts;
    return { ...start, title: session.info.title || promptTitle(textOfParts(prompt)) };
  }

  /** The mode of calls that are made now. That of an agent is never wider than its parent's at that moment. */
  get mode(): Mode {
    const { mode } = this.#stance.allowance;
    const { parent } = this.parts;
    return parent === undefined ? mode : lowerMode(mode, parent.mode);
  }

  /** Holds from the next turn; for agents that run now from their next call. */
  change({ mode }: { mode: Mode }): void {
    this.#stance = { ...this.#stance, allowance: { ...this.#stance.allowance, mode } };
  }

  /** The skills that narrow its calls: each counts for the run in which it was loaded, and for one that goes on. */
  activeSkills(): readonly ActiveSkill[] {
    const { session, parent } = this.parts;
    const own = session.skillSince(this.#skillsSince);
    return [...(own === undefined ? [] : [own]), ...(parent?.activeSkills() ?? [])];
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
      const source = this.#hasBegun ? undefined : start.source;
      const words = yield* askHooks(turn, { source, request }, stop);
      const left = !this.#hasBegun && session.resumed ? agents?.leftBefore(this) : [];
      this.#hasBegun = true;
      const { contextWindow } = turn.info;
      const told = { environment: environment(this.mode), left: left ?? [], skills, events, contextWindow };
      const opening = openingItems(request, told);
      return yield* runTurn(turn, [...opening, ...words], stop);
    } finally {
      if (turn.progress.mayHaveWritten) this.parts.parent?.noteWriting();
      const ended = this.changes.end();
      this.#running = undefined;
      resolve();
      await ended;
    }
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
  get totals(): Omit<Totals, "durationMs"> {
    const { ledger, session, stance, workspace, servers, resume } = this.parts;
    const cost = costOf(ledger, stance.info.price);
    return {
      session: session.id,
      usage: { ...ledger.usage, ...(cost !== undefined && { cost_usd: cost }) },
      tools: ledger.calls,
      filesChanged: this.changes.paths.size,
      executableChanges: executableChanges([...this.changes.paths, ...workspace.repositories.changedConfig()]),
      ...this.#verified(),
      agents: this.agents.counts,
      mcp: servers?.missing ?? [],
      resume: session.isEmpty ? null : resume,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack();
    const { host, session, workspace, servers, parent } = this.parts;
    closing.defer(() => host.delete(this));
    closing.use(session);
    if (parent === undefined) closing.use(workspace);
    else closing.defer(() => workspace.close(this.#hands));
    if (parent === undefined) closing.use(servers);
    closing.use(this.agents);
    this.#life.abort(new KodaError("reader_gone", "the conversation was closed"));
    // Its reader may have stopped reading, and then it never ends.
    if (this.#running !== undefined) await within(graceMs, this.#running);
  }

  #verified(): Pick<Totals, "verify"> {
    if (this.#verification === undefined) return {};
    const { command, passed, attempts } = this.#verification;
    return { verify: { command, passed, attempts } };
  }

  #turn({ prompt, schema, verify, isLast = false }: TurnRequest, changes: Turn["changes"]): Turn {
    this.#verification = verify && { ...verify, attempts: 0, passed: false };
    this.#turnMode = this.mode;
    this.#skillsSince = prompt.length === 0 ? 0 : this.#lengthAtStart;
    this.#progress = {
      text: "",
      usage: noUsage,
      mayHaveWritten: false,
      hasRunStopHooks: false,
      work: Promise.resolve(),
    };
    const { session, ledger, system, parent } = this.parts;
    const { model, info, catalog, gateFor } = this.#stance;
    const { tools } = catalog.current;
    const offers = (tool: string) => tools.some(({ name }) => name === tool);
    return {
      ...this.#turnBase(changes),
      model,
      info,
      catalog,
      gate: parent === undefined ? gateFor(this.#turnMode) : (call) => gateFor(this.mode)(call),
      system,
      ledger,
      compaction: this.#compaction,
      ...(this.#verification !== undefined && { verification: this.#verification }),
      task: taskOf(prompt, { mayWrite: this.#turnMode === "auto" && canEdit(tools), todo: session.todo }),
      judge: new AnswerJudge({ schema, requiresFinish: offers(finishName), counts: ledger.calls }),
      activeSkills: () => this.activeSkills(),
      environment: () => this.parts.environment(this.#turnMode),
      inbox: this.inbox,
      settle: async () => (isLast ? this.agents[Symbol.asyncDispose]() : undefined),
      loop: new LoopGuard(),
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
      contextOf: (call: string, claim?: Claim) =>
        this.#contexts.of(call, { claim, mayWrite: ({ effect }) => this.#mayWrite(effect) }),
      repositories: workspace.repositories,
      locks: workspace.locks,
      waits: () => host.clocks.pauseIdle(),
    };
  }

  /** The classification of a command is a guess, and the modes that depend on it are held by the kernel. */
  #mayWrite(effect: Effect): boolean {
    const isAgent = this.parts.parent !== undefined;
    const mode = isAgent ? this.mode : this.#turnMode;
    return mode === "auto" || (!isAgent && effect !== "read");
  }
}

/** A turn that is being stopped has this long to record its end. */
const graceMs = 3_000;
