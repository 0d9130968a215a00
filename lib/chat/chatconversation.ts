import type { Approvals } from "../conversation/approvals.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Earlier } from "../conversation/conversationparts.ts";
import type { Current } from "../conversation/exec.ts";
import type { Host } from "../conversation/host.ts";
import { openConversation } from "../conversation/open.ts";
import { refreshServers } from "../conversation/refresh.ts";
import type { UserQuestions } from "../conversation/userquestions.ts";
import type { Settings } from "../conversation/settings.ts";
import type { OwnOutput } from "../engine/changes.ts";
import type { Event } from "../engine/event.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { Elicit } from "../tools/elicitation.ts";
import { KodaError } from "../errors.ts";
import type { Queue, Submitted } from "./queue.ts";
import { done, replyTo } from "./reply.ts";
import type { SettingsChange } from "./submission.ts";

export type ChatSettings = {
  own: OwnOutput;
  /** The settings of the chat with these changes, one after the other; throws when they cannot be. */
  settings(changes: readonly SettingsChange[]): Promise<Settings>;
  approvals: Approvals;
  questions: UserQuestions | undefined;
  elicit: Elicit | undefined;
  /** Settles when the events so far have left the process; false when nobody reads them any more. */
  delivered(): Promise<boolean>;
};

type Clearing = { last: Outcome; queue: Queue; signal: AbortSignal };

type Opening = {
  earlier?: Earlier;
  /** Ends the start of the MCP servers. */
  interrupt: AbortSignal;
};

/** The conversation that a chat has now: some changes of its settings take another one on the same session. */
export class ChatConversation {
  readonly #host: Host;
  readonly #settings: ChatSettings;
  readonly #current: Current;
  /** Why there is no conversation any more. */
  #lost: unknown;
  /** Those that hold. */
  readonly #changes: SettingsChange[] = [];
  #verify: Settings["verify"];

  constructor(host: Host, settings: ChatSettings, current: Current) {
    this.#host = host;
    this.#settings = settings;
    this.#current = current;
  }

  get conversation(): Conversation {
    const { conversation } = this.#current;
    if (conversation === undefined) throw new Error("the chat is not open");
    return conversation;
  }

  /** The user's command that answers have to pass. */
  get verify(): Settings["verify"] {
    return this.#verify;
  }

  /** The interrupt ends the start of its MCP servers. */
  async *open(interrupt: AbortSignal): AsyncGenerator<Event, void> {
    const settings = await this.#settings.settings([]);
    this.#verify = settings.verify;
    this.#host.clocks.start(settings.loaded.config.limits);
    yield* this.#open(settings, { interrupt });
  }

  /** Settings hold from the next turn, all of them or none. */
  async *change(change: SettingsChange, signal = this.#host.signal): AsyncGenerator<Event, unknown> {
    const settings = await this.#settings.settings([...this.#changes, change]);
    const { root } = this.conversation.parts.workspace.policy;
    const { mode, model, effort, verify: _, ...others } = change;
    // The sandbox of a conversation that was opened in mode plan can write nothing.
    const isWider = (mode ?? "plan") !== "plan" && this.conversation.parts.settings.loaded.config.mode === "plan";
    const isInPlace = !isWider && Object.values(others).every((value) => value === undefined);
    const isModel = model !== undefined || effort !== undefined;
    const connected = isInPlace && isModel ? await this.conversation.parts.withModel?.(settings) : undefined;
    if (!isInPlace || (isModel && connected === undefined)) yield* this.#reopen(settings, signal);
    else {
      if (mode !== undefined) yield* this.#changeMode(settings, signal);
      this.conversation.change(connected ?? {});
    }
    this.#changes.push(change);
    if (settings.root !== root) this.#settings.approvals.forget();
    this.#verify = settings.verify;
    const { name, provider } = this.conversation.stance.info;
    return { model: name, provider, mode: this.conversation.authority.mode, cwd: settings.root };
  }

  /** Programs of MCP servers may write in mode auto alone, so they are started again. */
  async *#changeMode(settings: Settings, signal: AbortSignal): AsyncGenerator<Event, void> {
    const { conversation } = this;
    const { mode: before } = conversation.authority;
    const { mode } = settings.loaded.config;
    conversation.change({ mode });
    const { events, servers } = conversation.parts;
    if ((mode === "auto") === (before === "auto") || servers.statuses.length === 0) return;
    try {
      yield* events.until(refreshServers(conversation, settings, signal));
    } catch (error) {
      conversation.change({ mode: before });
      throw error;
    }
  }

  /** The settings that hold now, or would in another directory. */
  async settingsIn(cwd: string | undefined): Promise<Settings> {
    return await this.#settings.settings([...this.#changes, ...(cwd === undefined ? [] : [{ cwd }])]);
  }

  /** Restarts the MCP servers, as the configuration has them now. */
  async *refresh(config: string | undefined, signal: AbortSignal): AsyncGenerator<Event, unknown> {
    const change: SettingsChange = config === undefined ? {} : { mcp_config: config };
    const { events, servers } = this.conversation.parts;
    const settings = await this.#settings.settings([...this.#changes, change]);
    yield* events.until(refreshServers(this.conversation, settings, signal));
    this.#changes.push(change);
    this.#settings.approvals.forgetServers();
    return { servers: servers.statuses };
  }

  /** The same session in another sandbox, or with another model. What runs in the old sandbox would end with it. */
  async *#reopen(settings: Settings, interrupt: AbortSignal): AsyncGenerator<Event, void> {
    const before = this.conversation;
    assertIdle(before);
    const old = await this.#settings.settings(this.#changes);
    const earlier = before.handOver();
    yield* before.parts.events.until(before[Symbol.asyncDispose]());
    try {
      yield* this.#open(settings, { earlier, interrupt });
    } catch (error) {
      yield* this.#orLost(this.#open(old, { earlier, interrupt }));
      throw error;
    }
  }

  /** Another session, which goes on with what was submitted to this one. */
  async *clear(job: Submitted, { last, queue, signal: interrupt }: Clearing): AsyncGenerator<Event, unknown> {
    const before = this.conversation;
    assertIdle(before);
    const settings = await this.#settings.settings(this.#changes);
    yield* before.end(last, this.#host.signal);
    const { session, ...earlier } = before.handOver();
    // Closed last: an empty session is deleted with its submissions.
    await using _ = session;
    yield* before.parts.events.until(before[Symbol.asyncDispose]());
    const opening = this.#openWith({ ...settings, session: { kind: "new" } }, { earlier, interrupt });
    const opened = await opening.catch((error: unknown) => {
      throw (this.#lost = error);
    });
    const { submissions, id } = opened.parts.session;
    // Before anything can be submitted to it: what was submitted before is known there.
    const reply = JSON.stringify(replyTo(job.id, done({ session: id })));
    submissions.adopt(session.id, { id: job.id, reply });
    for (const each of [job, ...queue.waiting]) each.kept = submissions;
    this.#settings.approvals.forget();
    yield* this.#begin(opened);
    if (await this.#settings.delivered()) session.submissions.tell(job.id);
    return { session: id };
  }

  /** To be called after each change: a chat cannot go on when neither the new settings nor the old can be opened. */
  assertOpen(): void {
    if (this.#lost === undefined) return;
    delete this.#current.conversation;
    throw this.#lost;
  }

  async *#orLost<R>(opening: AsyncGenerator<Event, R>): AsyncGenerator<Event, R> {
    try {
      return yield* opening;
    } catch (error) {
      this.#lost = error;
      throw error;
    }
  }

  async *#open(settings: Settings, opening: Opening): AsyncGenerator<Event, void> {
    yield* this.#begin(await this.#openWith(settings, opening));
  }

  async #openWith(settings: Settings, opening: Opening): Promise<Conversation> {
    const { own, approvals, questions, elicit } = this.#settings;
    const parts = { settings, own, approvals, questions, elicit, ...opening };
    return await openConversation(this.#host, parts, this.#host.signal);
  }

  *#begin(conversation: Conversation): Generator<Event, void> {
    this.#current.conversation = conversation;
    yield this.conversation.start();
    yield* this.conversation.parts.events.drain();
  }
}

/** Throws while something runs that would end with the workspace. */
function assertIdle({ background }: Conversation): void {
  if (background.length === 0) return;
  const what = background.join(", ");
  throw new KodaError(
    "busy",
    `This would end what runs in the background (${what}): stop it first, or wait for its end`,
  );
}
