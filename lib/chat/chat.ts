import { Mailbox } from "../async/mailbox.ts";
import { Approvals } from "../conversation/approvals.ts";
import type { Conversation, TurnRequest } from "../conversation/conversation.ts";
import { expandRequest } from "../conversation/definitions.ts";
import { type Current, type TaskEnd, runWith } from "../conversation/exec.ts";
import type { Host } from "../conversation/host.ts";
import { PendingApprovals } from "../conversation/pendingapprovals.ts";
import { UserQuestions } from "../conversation/userquestions.ts";
import type { Event } from "../engine/event.ts";
import { renewRequests } from "../engine/ledger.ts";
import { type Outcome, outcomeOfError } from "../engine/outcome.ts";
import type { Prompt } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import { beside } from "./beside.ts";
import { betweenTurns, shellResult } from "./betweenturns.ts";
import { ChatConversation, type ChatSettings } from "./chatconversation.ts";
import { type ChatLine, Door } from "./door.ts";
import type { InputHistory } from "./inputhistory.ts";
import { listFor } from "./listing.ts";
import { beginsTurn, isOp, type Submitted, type SubmittedOf, Queue } from "./queue.ts";
import { byOutcome, cancelled, done, refused, ofTurn, type SubmissionReply } from "./reply.ts";
import type { Submission, SubmissionOf } from "./submission.ts";

type ChatTask = TaskEnd &
  Omit<ChatSettings, "approvals" | "questions"> & {
    lines: AsyncIterable<ChatLine>;
    /** The inputs of all chats; undefined for a chat that keeps nothing. */
    history: InputHistory | undefined;
    /** Saves the start of a command that needs no approval from now on; undefined when nobody can be asked. */
    remember: ((prefix: string) => Promise<void>) | undefined;
    /** Questions can be answered. */
    canAnswer: boolean;
    version: string;
    /** The paths of files that koda itself writes. */
    ownFiles: readonly string[];
  };

/** A conversation: submissions in, events out, from the first event to the only `end`. */
export async function* runChat(host: Host, task: ChatTask): AsyncGenerator<Event, void> {
  yield* runWith(host, task, (current) => new Chat(host, task, current).events());
}

/** A turn, from the moment in which it is due; one that nothing begins is for the answers of agents. */
type RunningTurn = {
  stop: AbortController;
  first: SubmittedOf<"input" | "review"> | undefined;
  /** Input that it was given while it runs. */
  steered: SubmittedOf<"input">[];
  isOpen: boolean;
};

/** Carries out what is submitted: at once, in the running turn, or between turns. Each has one reply. */
class Chat {
  readonly #host: Host;
  readonly #lines: ChatTask["lines"];
  readonly #own: { version: string; own: readonly string[] };
  readonly #history: ChatTask["history"];
  readonly #pending: PendingApprovals;
  readonly #questions: UserQuestions | undefined;
  readonly #opened: ChatConversation;
  readonly #queue = new Queue();
  readonly #posted = new Mailbox<Event>();
  readonly #door: Door;
  /** The commands of the user's that run beside a turn. */
  readonly #commands = new Set<Promise<void>>();
  /** Stops all commands of the user's. */
  #stopCommands = new AbortController();
  #turn: RunningTurn | undefined;
  /** Stops what is carried out between turns. */
  #step: AbortController | undefined;
  #last: Outcome = { status: "done", text: "" };
  #isStopped = false;

  constructor(host: Host, task: ChatTask, current: Current) {
    this.#host = host;
    this.#lines = task.lines;
    this.#own = { version: task.version, own: task.ownFiles };
    this.#history = task.history;
    const { remember } = task;
    const post = (event: Event) => this.#posted.post(event);
    const questions = {
      post,
      waits: () => host.clocks.pauseIdle(),
      abort: () => this.#interrupt("The turn was ended at a question"),
    };
    this.#pending = new PendingApprovals(questions);
    this.#questions = task.canAnswer ? new UserQuestions(questions) : undefined;
    const approvals = new Approvals(remember && { pending: this.#pending, post, remember });
    const asking = { approvals, questions: this.#questions };
    this.#opened = new ChatConversation(host, { ...task, ...asking }, current);
    this.#door = new Door({
      kept: () => this.#conversation.parts.session.submissions,
      posted: this.#posted,
      assertPossible: (submission) => this.#assertPossible(submission),
      carryOut: (job) => this.#carryOut(job),
    });
  }

  async *events(): AsyncGenerator<Event, Outcome> {
    yield* this.#opened.open();
    await this.#door.takeUp();
    const wake = () => {
      this.#pending.end("the chat was stopped");
      this.#questions?.withdraw();
      this.#queue.wake();
    };
    this.#host.signal.addEventListener("abort", wake);
    const reading = this.#read();
    // It is waited for at the end.
    reading.catch(() => undefined);
    try {
      for await (const event of beside(this.#posted, this.#work(reading))) {
        yield event;
        if (event.type === "reply") this.#door.told(event.submission);
      }
      return this.#last;
    } finally {
      this.#host.signal.removeEventListener("abort", wake);
    }
  }

  get #conversation(): Conversation {
    return this.#opened.conversation;
  }

  async #read(): Promise<void> {
    try {
      for await (const line of this.#lines) {
        if (this.#isStopped) return;
        await this.#door.receive(line);
      }
    } finally {
      this.#queue.close();
      this.#pending.end("nobody can answer any more");
      this.#questions?.close();
    }
  }

  #assertPossible({ op }: Submission): void {
    if ((op === "undo" || op === "rollback") && (this.#turn !== undefined || this.#queue.hasTurn))
      throw new KodaError("session_held", "Cannot rollback while a turn is in progress.");
  }

  #carryOut(job: Submitted): void {
    const { submission } = job;
    switch (submission.op) {
      case "interrupt":
        return this.#door.post(job, done({ interrupted: this.#interrupt("The turn was interrupted") }));
      case "shutdown":
        this.#isStopped = true;
        this.#interrupt("The chat was shut down");
        this.#pending.end("the chat was shut down");
        this.#queue.close();
        return this.#door.post(job, done());
      case "approve":
        return this.#decide(job, submission);
      case "answer":
        return this.#answerQuestion(job, submission);
      case "tools.list":
      case "skills.list":
      case "prompts.list":
      case "agents.list":
      case "mcp.list":
        return this.#door.post(job, done(listFor(submission.op, this.#conversation)));
      case "history.add":
      case "history.get":
        return this.#door.post(job, this.#remember(submission));
      case "shell":
        return this.#turn?.isOpen === true && isOp(job, "shell") ? this.#runBeside(job) : this.#queue.add(job);
      case "input":
      case "settings":
      case "compact":
      case "undo":
      case "rollback":
      case "review":
      case "clear":
      case "mcp.refresh":
        this.#queue.add(job);
        return this.#steer();
      default:
        submission satisfies never;
    }
  }

  /** Ends the turn. A question that is open is denied, so that the call is told and counted. */
  #interrupt(message: string): boolean {
    this.#pending.denyAll("the turn was interrupted");
    this.#questions?.withdraw();
    const reason = new KodaError("interrupted", message, { retryable: true });
    this.#stopCommands.abort(reason);
    this.#stopCommands = new AbortController();
    const stop = this.#turn?.stop ?? this.#step;
    stop?.abort(reason);
    return stop !== undefined;
  }

  #answerQuestion(job: Submitted, { question, text }: SubmissionOf<"answer">): void {
    const problem = this.#questions === undefined ? "No question is open" : this.#questions.answer(question, text);
    this.#door.post(job, problem === undefined ? done() : refused("usage", problem));
  }

  #decide(job: Submitted, { call, decision, feedback }: SubmissionOf<"approve">): void {
    const problem = this.#pending.decide(call, decision, feedback);
    if (problem === undefined) return this.#door.post(job, done());
    this.#posted.post({ type: "notice", level: "warn", code: "approval", message: problem });
    this.#door.post(job, refused("usage", problem));
  }

  #remember(submission: SubmissionOf<"history.add" | "history.get">): SubmissionReply {
    if (this.#history === undefined) return refused("usage", "A chat with --ephemeral has no history of inputs");
    try {
      if (submission.op === "history.get") return done(this.#history.get(submission.offset, submission.log));
      this.#history.add(submission.text);
      return done();
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      return refused(error.code, error.message);
    }
  }

  /** Gives the running turn the input that has come. */
  #steer(): void {
    if (this.#turn?.isOpen !== true) return;
    for (const job of this.#queue.inputs()) {
      this.#turn.steered.push(job);
      this.#conversation.inbox.add(promptOf(job.submission), job.id);
    }
  }

  async *#work(reading: Promise<void>): AsyncGenerator<Event, void> {
    while (true) {
      const next = yield* this.#conversation.parts.events.until(this.#next());
      if (next === "over") break;
      yield* next === "turn" ? this.#converse() : this.#perform(next);
    }
    this.#host.signal.throwIfAborted();
    for (const job of this.#queue.drain()) yield this.#door.reply(job, cancelled("The chat was shut down before"));
    // A pipe may stay open for hours.
    if (!this.#isStopped) await reading;
  }

  /** The next submission; a turn is also for the answers of agents in the background. */
  async #next(): Promise<Submitted | "turn" | "over"> {
    const agents = this.#conversation.agents.background;
    while (true) {
      const isRunning = agents.running.length > 0;
      if (this.#isStopped || this.#host.signal.aborted) return "over";
      const job = this.#queue.next();
      if (job !== undefined && !beginsTurn(job)) return job;
      if (job !== undefined || !agents.isEmpty) {
        // From now on it is in progress, also for what is submitted before its first event.
        this.#turn = { stop: new AbortController(), first: job, steered: [], isOpen: false };
        return "turn";
      }
      const isBusy = isRunning || this.#commands.size > 0;
      if (this.#queue.isOver && !isBusy) return "over";
      const changed = this.#queue.changed();
      await (isRunning ? Promise.race([changed, agents.next()]) : changed);
    }
  }

  async *#perform(job: Submitted): AsyncGenerator<Event, void> {
    this.#step = new AbortController();
    const signal = AbortSignal.any([this.#host.signal, this.#step.signal]);
    let reply: SubmissionReply;
    try {
      job.kept.take(job.id);
      reply = done(yield* betweenTurns(job, { opened: this.#opened, queue: this.#queue, last: this.#last, signal }));
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      reply = byOutcome(outcomeOfError(error, signal, ""));
    }
    this.#step = undefined;
    yield this.#door.reply(job, reply);
    this.#opened.assertOpen();
  }

  async *#converse(): AsyncGenerator<Event, void> {
    const turn = this.#turn;
    if (turn === undefined) throw new Error("no turn is due");
    const { first } = turn;
    const signal = AbortSignal.any([this.#host.signal, turn.stop.signal]);
    let outcome: Outcome;
    try {
      outcome = yield* this.#run(turn, signal);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      outcome = outcomeOfError(error, signal, "");
    } finally {
      this.#turn = undefined;
    }
    this.#last = outcome;
    // Input that came too late for this turn begins the next one.
    const late = new Set(this.#conversation.inbox.takePrompts().map(({ submission }) => submission));
    this.#queue.putBack(turn.steered.filter(({ id }) => late.has(id)));
    const steered = turn.steered.filter(({ id }) => !late.has(id));
    for (const job of first === undefined ? steered : [first, ...steered])
      yield this.#door.reply(job, this.#afterTurn(job, outcome));
    this.#opened.assertOpen();
    for (const job of steered) yield* this.#changeAfter(job.submission);
  }

  async *#run(turn: RunningTurn, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
    const { first } = turn;
    const settings = first !== undefined && isOp(first, "input") ? first.submission.settings : undefined;
    if (settings !== undefined) yield* this.#opened.change(settings);
    const conversation = this.#conversation;
    await using review = first && isOp(first, "review") ? await this.#openReview(first, signal) : undefined;
    if (review !== undefined && "findings" in review) {
      first?.kept.take(first.id);
      return { status: "done", text: review.findings.summary, output: review.findings };
    }
    turn.isOpen = true;
    renewRequests(conversation.parts.ledger);
    this.#steer();
    const request = review === undefined ? this.#requestOf(first) : review.request;
    const submission = first === undefined ? {} : { submission: first.id };
    return yield* tagged(conversation.run({ ...request, ...submission }, signal), first?.id);
  }

  async #openReview({ submission }: SubmittedOf<"review">, signal: AbortSignal) {
    const { openReview } = await import("./reviewturn.ts");
    return await openReview(this.#conversation, submission, { ...this.#own, signal });
  }

  /** The settings of an input that a turn has taken hold from the next one. */
  async *#changeAfter({ settings }: SubmissionOf<"input">): AsyncGenerator<Event, void> {
    if (settings === undefined) return;
    try {
      yield* this.#opened.change(settings);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      yield {
        type: "notice",
        level: "warn",
        code: "settings",
        message: `The settings are as before: ${error.message}`,
      };
      this.#opened.assertOpen();
    }
  }

  #requestOf(job: Submitted | undefined): TurnRequest {
    if (job === undefined || !isOp(job, "input")) return { prompt: [], isWoken: true };
    const { submission } = job;
    const { text, schema } = submission;
    const asked = expandRequest({ parts: promptOf(submission), words: text }, this.#conversation.parts);
    return { ...asked, schema, verify: this.#opened.verify };
  }

  /** An input that a hook has denied is not a part of the turn. */
  #afterTurn({ id, kept }: Submitted, outcome: Outcome): SubmissionReply {
    if (kept.find(id)?.state === "taken") return ofTurn(outcome, this.#conversation.parts.session.info.turns);
    if (outcome.status !== "done") return byOutcome(outcome);
    return refused("hook", "The input was denied by a hook, and is not a part of the turn");
  }

  /** The command of a user while a turn runs: the model reads of it before its next request. */
  #runBeside(job: SubmittedOf<"shell">): void {
    job.kept.take(job.id);
    const running = this.#answerShell(job);
    this.#commands.add(running);
    void running.finally(() => {
      this.#commands.delete(running);
      this.#queue.wake();
    });
  }

  async #answerShell(job: SubmittedOf<"shell">): Promise<void> {
    const signal = AbortSignal.any([this.#host.signal, this.#stopCommands.signal]);
    try {
      this.#door.post(job, done(await shellResult(this.#conversation, job, signal)));
    } catch (error) {
      this.#door.post(job, byOutcome(outcomeOfError(error, this.#host.signal, "")));
    }
  }
}

function promptOf({ text, parts }: SubmissionOf<"input">): Prompt {
  return parts ?? [{ type: "text", text: text ?? "" }];
}

/** The events of a turn have the submission that began it; commands of the user's are no part of it. */
async function* tagged<T>(events: AsyncGenerator<Event, T>, id: string | undefined): AsyncGenerator<Event, T> {
  while (true) {
    const { done: isDone, value } = await events.next();
    if (isDone === true) return value;
    yield id === undefined || value.type.startsWith("shell.") ? value : Object.assign(value, { submission: id });
  }
}
