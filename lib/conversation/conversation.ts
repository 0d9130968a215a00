import type { Prompts } from "../agents/prompts.ts";
import { loadSkill, type Skills, skillsNamed } from "../agents/skills.ts";
import { within } from "../async/within.ts";
import { AnswerJudge } from "../engine/answer.ts";
import { skillNote } from "../engine/call.ts";
import { Changes, type OwnOutput } from "../engine/changes.ts";
import { Compaction } from "../engine/compaction.ts";
import type { Totals } from "../engine/end.ts";
import type { Event, EventOf, Events } from "../engine/event.ts";
import type { KeyWatch } from "../engine/exposure.ts";
import { hookNote } from "../engine/hooknote.ts";
import { type Hooks, type HookVerdict, runEndHooks, runHooks } from "../engine/hooks.ts";
import { costOf, type Ledger } from "../engine/ledger.ts";
import { LoopGuard } from "../engine/loop.ts";
import type { Outcome } from "../engine/outcome.ts";
import { taskOf } from "../engine/task.ts";
import { type CallContext, type Prompt, runTurn, type Turn } from "../engine/turn.ts";
import { snapshotDirectory } from "../config/paths.ts";
import type { Verification } from "../engine/verify.ts";
import { KodaError } from "../errors.ts";
import type { JsonSchema } from "../model/model.ts";
import type { Servers } from "../mcp/servers.ts";
import { noUsage } from "../model/usage.ts";
import { type Policy, readOnly } from "../sandbox/policy/policy.ts";
import { inMemory } from "../session/database.ts";
import { textOfParts } from "../session/content.ts";
import type { Item, ItemOf } from "../session/item.ts";
import { promptTitle } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { finishName } from "../tools/finish.ts";
import type { Claim } from "../trust/claim.ts";
import { executableChanges } from "../worktree/executable.ts";
import type { Host } from "./host.ts";
import type { RunPatch } from "./runpatch.ts";
import { Inbox } from "./inbox.ts";
import type { Settings } from "./settings.ts";
import { canEdit } from "./tools.ts";
import type { Stance } from "./stance.ts";
import system from "./system.md" with { type: "text" };
import type { Hands, Workspace } from "./workspace.ts";
import { ownPlace } from "./workspace/ownplace.ts";

export type TurnRequest = {
  prompt: Prompt;
  /** The user's own words in it: the skills that they name are loaded. */
  words?: string | undefined;
  /** The JSON Schema that the answer has to match. */
  schema?: JsonSchema | undefined;
  verify?: Pick<Verification, "command" | "most"> | undefined;
};

type ConversationParts = {
  host: Host;
  session: Session;
  stance: Stance;
  workspace: Workspace;
  servers: Servers | undefined;
  ledger: Ledger;
  events: Events;
  skills: Skills;
  prompts: Prompts;
  /** The first event, without the title of a new session. */
  start: EventOf<"session.start">;
  /** The environment as far as the model does not know it yet. */
  environment: () => ItemOf<"environment"> | undefined;
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
  readonly inbox: Inbox = new Inbox();
  readonly #hands: Hands;
  readonly #compaction: Compaction;
  readonly #changed = new Set<string>();
  #areChangesKnown = true;
  /** One object: the sandbox prepares each policy once. */
  #readers: Policy | undefined;
  #verification: Verification | undefined;
  readonly #life = new AbortController();
  #running: Promise<void> | undefined;
  /** The hooks on the start of the session have run. */
  #hasBegun = false;
  /** The length of the log when this run began. */
  readonly #lengthAtStart: number;

  /** Takes ownership of the session, the workspace and the servers. */
  constructor(parts: ConversationParts) {
    this.parts = parts;
    this.#lengthAtStart = parts.session.info.length;
    this.#hands = parts.workspace.open();
    const { patch, workspace, events, host, settings } = parts;
    this.#compaction = new Compaction({ ...settings.loaded.config.compaction, now: () => host.traffic.now });
    host.add(this);
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

  /** One turn. The signal ends this turn only. */
  async *run(request: TurnRequest, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
    if (this.#running !== undefined) throw new Error(`a turn of session ${this.parts.session.id} is running`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    const changes = this.#newChanges();
    try {
      const stop = AbortSignal.any([signal, this.#life.signal]);
      const turn = this.#turn(request, changes);
      const words = yield* this.#askHooks(turn, request, stop);
      return yield* runTurn(turn, [...this.#opening(request), ...words], stop);
    } finally {
      const kept = this.#keep(changes);
      this.#running = undefined;
      resolve();
      await kept;
    }
  }

  /** The hooks on the end of the session, which has happened already. */
  async *end({ status, text }: Outcome, signal: AbortSignal): AsyncGenerator<Event, void> {
    if (this.parts.hooks?.has("session.end") !== true) return;
    const changes = this.#newChanges();
    const ground = { ...this.#ground(changes), progress: { work: Promise.resolve() } };
    try {
      yield* runEndHooks(ground, { on: "session.end", status, last_message: text }, signal);
    } finally {
      await this.#keep(changes);
    }
  }

  /** The words of the hooks on a start and on a prompt. Nothing is recorded when one denies. */
  async *#askHooks(turn: Turn, { prompt }: TurnRequest, signal: AbortSignal): AsyncGenerator<Event, Item[]> {
    const { start, session } = this.parts;
    const words: Item[] = [];
    if (!this.#hasBegun) {
      const source = start.source === "new" ? "startup" : start.source;
      words.push(...said("session.start", yield* runHooks(turn, { on: "session.start", source }, signal)));
    }
    this.#hasBegun = true;
    if (prompt.length === 0) return words;
    const occasion = { on: "prompt" as const, prompt: textOfParts(prompt), turn: session.info.turns + 1 };
    return [...words, ...said("prompt", yield* runHooks(turn, occasion, signal))];
  }

  async #keep(changes: Changes): Promise<void> {
    for (const path of changes.paths) this.#changed.add(path);
    this.#areChangesKnown &&= changes.isKnown;
    if (this.parts.patch?.keep(changes) !== true) await changes[Symbol.asyncDispose]();
  }

  /** False when the project is certainly as it was; undefined when that cannot be told. */
  get hasChanges(): boolean | undefined {
    return this.#changed.size > 0 || (this.#areChangesKnown ? false : undefined);
  }

  /** The totals of all turns so far. */
  get totals(): Omit<Totals, "durationMs"> {
    const { ledger, session, stance, workspace, servers, resume } = this.parts;
    const cost = costOf(ledger, stance.info.price);
    return {
      session: session.id,
      usage: { ...ledger.usage, ...(cost !== undefined && { cost_usd: cost }) },
      tools: ledger.calls,
      filesChanged: this.#changed.size,
      executableChanges: executableChanges([...this.#changed, ...workspace.repositories.changedConfig()]),
      ...this.#verified(),
      mcp: servers?.missing ?? [],
      resume: session.isEmpty ? null : resume,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack();
    const { host, session, workspace, servers } = this.parts;
    closing.defer(() => host.delete(this));
    closing.use(session);
    closing.use(workspace);
    closing.use(servers);
    this.#life.abort(new KodaError("reader_gone", "the conversation was closed"));
    // Its reader may have stopped reading, and then it never ends.
    if (this.#running !== undefined) await within(graceMs, this.#running);
  }

  #verified(): Pick<Totals, "verify"> {
    if (this.#verification === undefined) return {};
    const { command, passed, attempts } = this.#verification;
    return { verify: { command, passed, attempts } };
  }

  #turn({ prompt, schema, verify }: TurnRequest, changes: Changes): Turn {
    this.#verification = verify && { ...verify, attempts: 0, passed: false };
    const { session, ledger, stance } = this.parts;
    const { tools } = stance.catalog.current;
    const offers = (tool: string) => tools.some(({ name }) => name === tool);
    return {
      ...stance,
      ...this.#ground(changes),
      system,
      ledger,
      compaction: this.#compaction,
      ...(this.#verification !== undefined && { verification: this.#verification }),
      task: taskOf(prompt, { mayWrite: stance.allowance.mode === "auto" && canEdit(tools), todo: session.todo }),
      judge: new AnswerJudge({ schema, requiresFinish: offers(finishName), counts: ledger.calls }),
      // A skill narrows the run in which it was loaded, and one that goes on with the same task.
      activeSkill: () => session.skillSince(prompt.length === 0 ? 0 : this.#lengthAtStart),
      environment: this.parts.environment,
      inbox: this.inbox,
      loop: new LoopGuard(),
      progress: { text: "", usage: noUsage, mayHaveWritten: false, hasRunStopHooks: false, work: Promise.resolve() },
      heard: () => this.parts.host.clocks.heard(),
    };
  }

  /** The part of a turn that its commands need. */
  #ground(changes: Changes) {
    const { session, events, workspace, host, watchKey, hooks } = this.parts;
    return {
      session,
      events,
      changes,
      watchKey,
      hooks,
      contextOf: (call: string, claim?: Claim) => this.#contextOf(call, claim),
      repositories: workspace.repositories,
      waits: () => host.clocks.pauseIdle(),
    };
  }

  #opening({ prompt, words = "" }: TurnRequest): Item[] {
    const environment = this.parts.environment();
    const request: Item = prompt.length === 0 ? { kind: "note", text: goOn } : { kind: "user", parts: prompt };
    return [...(environment === undefined ? [] : [environment]), ...this.#loadSkills(words), request];
  }

  /** Loads the skills that are named (`$deploy`). */
  #loadSkills(words: string): Item[] {
    const { skills, events, stance } = this.parts;
    return skillsNamed(words, skills).flatMap((named) => {
      const skill = loadSkill(named, stance.info.contextWindow);
      const [level, message] =
        "problem" in skill
          ? (["warn", skill.problem] as const)
          : (["info", `Loaded the skill "${skill.name}"`] as const);
      events.post({ type: "notice", level, code: "skill", message });
      return "problem" in skill ? [] : [skillNote(skill)];
    });
  }

  #newChanges(): Changes {
    const { own, settings, workspace, session } = this.parts;
    const { policy } = workspace;
    const { database } = settings;
    // The turn's start is the next item.
    const place = { session: session.id, by: "turn" as const, seq: session.info.length + 1 };
    const keep = database === inMemory ? undefined : { snapshots: snapshotDirectory(database), ...place };
    const temporary = () => ownPlace(policy, settings.dataDirectory, { lasting: false });
    return new Changes({ policy, searchPath: settings.env.PATH, own, temporary, keep });
  }

  #contextOf(call: string, claim?: Claim): CallContext {
    const { session, workspace, stance } = this.parts;
    const { files, outputs, recall, todo } = session;
    const { egress, connections } = workspace;
    // The classification of a command is a guess, and the modes that depend on it are held by the kernel.
    const isReader = claim?.effect === "read" && stance.allowance.mode !== "auto";
    const policy = isReader ? (this.#readers ??= readOnly(workspace.policy)) : workspace.policy;
    return {
      ...this.#hands,
      policy,
      variables: () => workspace.proxyVariables(call),
      egress: { ...egress.ofTools, onRequest: (request) => connections.add(request, call) },
      refusals: connections.refusals,
      files,
      outputs,
      recall,
      todo,
      contextWindow: stance.info.contextWindow,
    };
  }
}

/** A turn that is being stopped has this long to record its end. */
const graceMs = 3_000;

/** The context of hooks that allowed it; throws when one denied. */
function said(on: "session.start" | "prompt", { denied, context }: HookVerdict): Item[] {
  if (denied !== undefined)
    throw new KodaError("hook", `The ${on === "prompt" ? "prompt" : "session"} was denied by the ${denied.rule}`);
  return context === undefined ? [] : [hookNote(on, context)];
}

const goOn = "The last turn did not finish. Continue the task. If it is finished or cannot be finished, say so.";
