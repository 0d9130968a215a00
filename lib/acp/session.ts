import type {
  AgentContext,
  ClientCapabilities,
  ContentBlock,
  SessionUpdate,
  StopReason,
} from "@agentclientprotocol/sdk";
import { aborted } from "../async/aborted.ts";
import { unlessAborted } from "../async/unlessaborted.ts";
import type { ChatLine } from "../chat/door.ts";
import { cancelled } from "../chat/reply.ts";
import { Submitter } from "../chat/submitter.ts";
import type { SettingsChange } from "../chat/submission.ts";
import type { Event, EventOf } from "../engine/event.ts";
import type { KodaError } from "../errors.ts";
import { RunningOutput } from "./runningoutput.ts";
import { promptInput } from "./prompt.ts";
import { ClientQuestions } from "./clientquestions.ts";
import { errorOf, stopReasonOf } from "./stopreason.ts";
import { Updates } from "./updates.ts";

/** A chat that a client asks for. */
export type ChatRequest = {
  cwd: string;
  /** The session to go on with. */
  resume?: string;
  /** MCP servers of the client. */
  servers: Readonly<Record<string, unknown>>;
  lines: AsyncIterable<ChatLine>;
  /** The user can be asked for text. */
  canAnswer: boolean;
};

export type OpenChat = (request: ChatRequest) => AsyncIterable<Event>;

type SessionOptions = {
  client: AgentContext;
  capabilities: ClientCapabilities;
  open: OpenChat;
  request: Omit<ChatRequest, "lines" | "canAnswer">;
};

/** A session of a client: a chat whose submissions are the client's requests, and whose events its updates. */
export class AcpSession {
  readonly #client: AgentContext;
  readonly #submitter = new Submitter();
  readonly #updates: Updates;
  readonly #questions: ClientQuestions;
  readonly #output: RunningOutput;
  readonly #opened = Promise.withResolvers<void>();
  readonly #over: Promise<void>;
  readonly #closing = new AbortController();
  #start: EventOf<"session.start"> | undefined;
  #end: EventOf<"end"> | undefined;
  /** The number of prompts that have not ended. */
  #prompts = 0;
  #cancellations = 0;
  /** Settles when the cancelled prompts have ended; undefined when there are none. */
  #cancelling: PromiseWithResolvers<void> | undefined;

  constructor({ client, capabilities, open, request }: SessionOptions) {
    this.#client = client;
    this.#updates = new Updates(request.cwd, capabilities);
    const { calls } = this.#updates;
    const update = (change: SessionUpdate) => this.update(change);
    this.#questions = new ClientQuestions({
      client,
      calls,
      submitter: this.#submitter,
      session: () => this.id,
      cancel: () => this.cancel(),
      update,
    });
    this.#output = new RunningOutput(calls, update);
    const canAnswer = Boolean(capabilities.elicitation?.form);
    const lines = this.#submitter.lines(aborted(this.#closing.signal));
    this.#over = this.#follow(open({ ...request, lines, canAnswer }));
  }

  get id(): string {
    return this.start.session;
  }

  /** The latest start: a change of the settings may have begun another conversation. */
  get start(): EventOf<"session.start"> {
    if (this.#start === undefined) throw new Error("the session is not open");
    return this.#start;
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The reason why it has ended by itself. */
  get failure(): KodaError | undefined {
    return this.isClosing || this.#end?.error === undefined ? undefined : errorOf(this.#end.error);
  }

  /** Settles when there is a session; rejects when there cannot be one. */
  opened(): Promise<void> {
    return this.#opened.promise;
  }

  /** Settles when nothing of it runs any more. */
  over(): Promise<void> {
    return this.#over;
  }

  async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
    const input = promptInput(blocks);
    const cancellations = this.#cancellations;
    // It must not steer a turn that is about to end.
    await this.#cancelling?.promise;
    if (this.#cancellations !== cancellations) return "cancelled";
    this.#prompts++;
    try {
      return stopReasonOf(await this.#submitter.submit(input));
    } finally {
      this.#prompts--;
      if (this.#prompts === 0) this.#endCancellation();
    }
  }

  /** Ends all prompts: that of the running turn, and those whose turns have yet to begin. */
  cancel(): void {
    this.#cancellations++;
    if (this.#prompts > 0) this.#cancelling ??= Promise.withResolvers();
    void this.#submitter.submit({ op: "interrupt" });
  }

  #endCancellation(): void {
    this.#cancelling?.resolve();
    this.#cancelling = undefined;
  }

  /** Settings hold from the next turn. */
  async change(settings: SettingsChange): Promise<void> {
    const { status, error, result } = await this.#submitter.submit({ op: "settings", ...settings });
    if (status !== "done") throw errorOf(error);
    this.#start = { ...this.start, ...(result as object), ...(settings.effort && { effort: settings.effort }) };
  }

  /** The user's prompts, which a client offers as commands. */
  async offerCommands(): Promise<void> {
    const { result } = await this.#submitter.submit({ op: "prompts.list" });
    const { prompts = [] } = (result ?? {}) as { prompts?: readonly { name: string; path: string }[] };
    const availableCommands = prompts.map(({ name, path }) => ({ name, description: path, input: { hint: "" } }));
    await this.update({ sessionUpdate: "available_commands_update", availableCommands });
  }

  async close(): Promise<void> {
    if (this.#end === undefined) void this.#submitter.submit({ op: "shutdown" });
    this.#closing.abort();
    await this.#over;
  }

  /** Settles when the client can take more. A session that is being closed does not wait for a client that hangs. */
  async update(update: SessionUpdate): Promise<void> {
    const sent = this.#client.notify("session/update", { sessionId: this.id, update });
    // An update that the client does not read any more is lost with it.
    await unlessAborted(sent, this.#closing.signal).catch(() => undefined);
  }

  async #follow(events: AsyncIterable<Event>): Promise<void> {
    try {
      for await (const event of events) await this.#see(event);
    } finally {
      this.#opened.reject(errorOf(this.#end?.error));
      // A session that has been open for long ends here as well.
      this.#opened.promise.catch(() => undefined);
      this.#submitter.abandon(this.#end?.error === undefined ? closed : { status: "failed", error: this.#end.error });
    }
  }

  async #see(event: Event): Promise<void> {
    if (event.type === "session.start") {
      this.#start = event;
      this.#opened.resolve();
    }
    if (event.type === "end") this.#end = event;
    // A cancellation may come before the turn that it is about.
    if (event.type === "turn.start" && this.#cancelling) void this.#submitter.submit({ op: "interrupt" });
    await this.#questions.see(event);
    this.#output.see(event);
    const update = this.#updates.of(event);
    if (update !== undefined) await this.update(update);
    // The client gets the response after all updates before it.
    this.#submitter.see(event);
  }
}

const closed = cancelled("The session was closed");
