import type { ChatLine } from "../chat/door.ts";
import type { SubmissionReply } from "../chat/reply.ts";
import { type NewSubmission, Submitter } from "../chat/submitter.ts";
import type { SettingsChange } from "../chat/submission.ts";
import type { Event, EventOf } from "../engine/event.ts";
import { KodaError, messageOf } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { commandNamed, type LineCommand, lineCommands, type LineServices } from "./commands.ts";
import { entryNames } from "./listed.ts";

type LineOptions = {
  services: LineServices;
  /** Writes lines for people. */
  note: (text: string) => Promise<void>;
  /** Each input waits for the end of the one before: a script is a sequence. */
  isSequence: boolean;
};

/** A conversation for people: inputs become submissions, and their events what is shown. */
export class LineChat {
  readonly #options: LineOptions;
  readonly #submitter = new Submitter();
  /** The latest events of some types: what commands tell. */
  readonly #latest = new Map<Event["type"], Event>();
  readonly #changes: SettingsChange[] = [];
  readonly #failed = Promise.withResolvers<never>();
  #isTurn = false;
  #turns = 0;
  #isLeaving = false;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  get services(): LineServices {
    return this.#options.services;
  }

  /** True as soon as there is a session. */
  get isOpen(): boolean {
    return this.#latest.has("session.start");
  }

  /** True while something is under way, if only the start. */
  get isBusy(): boolean {
    return !this.isOpen || this.#isTurn || this.#submitter.isWaiting;
  }

  /** The number of turns that have begun here. */
  get turns(): number {
    return this.#turns;
  }

  /** The changes of settings that were made here. */
  get changes(): readonly SettingsChange[] {
    return this.#changes;
  }

  latest<T extends Event["type"]>(type: T): EventOf<T> | undefined {
    return this.#latest.get(type) as EventOf<T> | undefined;
  }

  /** Everything that the inputs submit, until they end. */
  submissions(inputs: AsyncIterable<string>): AsyncGenerator<ChatLine, void> {
    return this.#submitter.lines(Promise.race([this.#read(inputs), this.#failed.promise]));
  }

  /** Submits something; settles with its reply. */
  submit(submission: NewSubmission): Promise<SubmissionReply> {
    return this.#submitter.submit(submission);
  }

  /** Changes settings; settles with the reply. */
  async change(settings: SettingsChange): Promise<SubmissionReply> {
    const reply = await this.submit({ op: "settings", ...settings });
    if (reply.status === "done") this.#changes.push(settings);
    return reply;
  }

  /** The names of the user's prompts. */
  async prompts(): Promise<string[]> {
    return entryNames((await this.submit({ op: "prompts.list" })).result, "prompts");
  }

  /** Takes note of an event that was shown. */
  see(event: Event): void {
    switch (event.type) {
      case "session.start":
      case "usage":
      case "diff":
        this.#latest.set(event.type, event);
        return;
      case "turn.start":
      case "turn.end":
        this.#isTurn = event.type === "turn.start";
        if (this.#isTurn) this.#turns++;
        return;
      default:
        return this.#submitter.see(event);
    }
  }

  async #read(inputs: AsyncIterable<string>): Promise<void> {
    for await (const text of inputs) {
      const work = this.#carryOut(text.trim()).catch(async (error: unknown) => {
        if (!(error instanceof KodaError)) throw error;
        await this.#options.note(`koda: ${messageOf(error)}`);
      });
      if (this.#options.isSequence) await work;
      // A bug is reported as that of any other part.
      else work.catch((error: unknown) => this.#failed.reject(error));
      if (this.#isLeaving) return;
    }
  }

  async #carryOut(text: string): Promise<void> {
    if (text === "") return;
    const { note } = this.#options;
    if (text.startsWith("!")) return await this.#shell(text.slice(1).trim());
    const [, name, rest = ""] = /^\/([\w-]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    if (name === undefined) return await this.#input(text);
    const command = commandNamed(name);
    if (command === undefined) return await this.#prompt(name, text);
    const shown = await command.run(this, rest.trim());
    if (command.isLast === true) this.#isLeaving = true;
    if (shown !== undefined) await note(shown);
  }

  async #input(text: string): Promise<void> {
    const isSteering = this.#isTurn;
    const answered = this.submit({ op: "input", text });
    if (isSteering) await this.#options.note("· The model reads this with its next request");
    await answered;
  }

  async #shell(command: string): Promise<void> {
    if (command === "") throw new KodaError("usage", "Expected a command after !, such as !git status");
    await this.submit({ op: "shell", command });
  }

  /** `/NAME rest` with one of the user's prompts; nothing else with a slash reaches the model. */
  async #prompt(name: string, text: string): Promise<void> {
    const prompts = await this.prompts();
    if (prompts.includes(name)) return await this.#input(text);
    const meant = nearest(name, [...lineCommands.map((each: LineCommand) => each.name), ...prompts]);
    const hint = meant === undefined ? "/help lists all" : `did you mean "/${meant}"?`;
    throw new KodaError("usage", `Unknown command "/${name}" (${hint})`);
  }
}
