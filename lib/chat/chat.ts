import { Mailbox } from "../async/mailbox.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { type Current, type TaskEnd, runWith } from "../conversation/exec.ts";
import type { Host } from "../conversation/host.ts";
import type { Event } from "../engine/event.ts";
import { type Outcome, outcomeOfError } from "../engine/outcome.ts";
import { KodaError } from "../errors.ts";
import { beside } from "./beside.ts";
import { betweenTurns, shellResult } from "./betweenturns.ts";
import { ChatConversation, type ChatSettings } from "./chatconversation.ts";
import { ChatTurn } from "./chatturn.ts";
import { type ChatLine, Door } from "./door.ts";
import { EarlyLines } from "./earlylines.ts";
import { historyReply, type InputHistory } from "./inputhistory.ts";
import { listFor } from "./listing.ts";
import { ChatQuestions } from "./questions.ts";
import { beginsTurn, isOp, type Submitted, Queue } from "./queue.ts";
import { byOutcome, cancelled, done, refused, type SubmissionReply } from "./reply.ts";
import type { ReviewOptions } from "./reviewturn.ts";
import { readSkills } from "./skillslist.ts";
import { ServerFailures } from "./serverfailures.ts";
import type { Submission, SubmissionOf } from "./submission.ts";

type ChatTask = TaskEnd &
  Omit<ChatSettings, "approvals" | "questions" | "elicit"> & {
    lines: AsyncIterable<ChatLine>;
    /** The inputs of all chats; undefined for a chat that keeps nothing. */
    history: InputHistory | undefined;
    /** Saves the start of a command that needs no approval from now on; undefined when the user cannot be asked. */
    remember: ((prefix: string) => Promise<void>) | undefined;
    /** Questions can be answered. */
    canAnswer: boolean;
    /** Submissions that an earlier process has accepted are not carried out. */
    dropsEarlier?: boolean;
    version: string;
    /** The paths of files that koda itself writes. */
    ownFiles: readonly string[];
  };

/** A conversation: submissions in, events out, from the first event to the only `end`. */
export async function* runChat(host: Host, task: ChatTask): AsyncGenerator<Event, void> {
  yield* runWith(host, task, (current) => new Chat(host, task, current).events());
}

/** Carries out what is submitted: at once, in the running turn, or between turns. Each has one reply. */
class Chat {
  readonly #host: Host;
  readonly #lines: EarlyLines;
  readonly #review: ReviewOptions;
  readonly #history: ChatTask["history"];
  readonly #delivered: ChatTask["delivered"];
  readonly #questions: ChatQuestions;
  readonly #opened: ChatConversation;
  readonly #queue = new Queue();
  readonly #failures = new ServerFailures();
  readonly #posted = new Mailbox<Event>();
  readonly #door: Door;
  /** Commands of the user's and others that are carried out beside a turn. */
  readonly #commands = new Set<Promise<void>>();
  /** Stops all of them. */
  #stopCommands = new AbortController();
  #turn: ChatTurn | undefined;
  /** Stops what is carried out between turns. */
  #step: AbortController | undefined;
  #last: Outcome = { status: "done", text: "" };
  #isStopped = false;

  constructor(host: Host, task: ChatTask, current: Current) {
    this.#host = host;
    this.#lines = new EarlyLines(task.lines);
    this.#review = { version: task.version, own: task.ownFiles };
    this.#history = task.history;
    this.#delivered = task.delivered;
    const { remember, canAnswer } = task;
    this.#questions = new ChatQuestions({
      clocks: host.clocks,
      post: (event) => this.#posted.post(event),
      abort: () => this.#interrupt("The turn was ended at a question"),
      remember,
      canAnswer,
    });
    this.#opened = new ChatConversation(host, { ...task, ...this.#questions.askers }, current);
    this.#door = new Door({
      kept: () => this.#conversation.parts.session.submissions,
      posted: this.#posted,
      assertPossible: (submission) => this.#assertPossible(submission),
      carryOut: (job) => this.#carryOut(job),
      dropsEarlier: task.dropsEarlier === true,
    });
  }

  async *events(): AsyncGenerator<Event, Outcome> {
    yield* this.#opened.open(this.#lines.interrupt);
    // A client that does not know the session cannot ask it for what it has accepted.
    await this.#delivered();
    this.#failures.startedWith(this.#conversation.parts.servers.statuses);
    await this.#door.takeUp();
    const wake = () => {
      this.#questions.close("the chat was stopped");
      this.#queue.wake();
    };
    this.#host.signal.addEventListener("abort", wake);
    const reading = this.#read();
    // It is waited for at the end.
    reading.catch(() => undefined);
    try {
      for await (const event of beside(this.#posted, this.#work(reading))) {
        yield event;
        if (event.type === "reply" && (await this.#delivered())) this.#door.told(event.submission);
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
      for await (const line of this.#lines.take()) {
        if (this.#isStopped) return;
        await this.#door.receive(line);
      }
    } finally {
      this.#queue.close();
      this.#questions.close("nobody can answer any more");
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
        return this.#door.post(job, done({ interrupted: this.#interruptAll() }));
      case "shutdown":
        this.#isStopped = true;
        this.#interrupt("The chat was shut down");
        this.#questions.close("the chat was shut down");
        this.#queue.close();
        return this.#door.post(job, done());
      case "approve":
      case "answer":
      case "elicit":
        return this.#answer(job, submission);
      case "skills.list":
        if (submission.cwds === undefined && submission.reload !== true) return this.#list(job, submission.op);
        return this.#runBeside(job, async () => readSkills(this.#opened, submission.cwds));
      case "tools.list":
      case "prompts.list":
      case "agents.list":
      case "mcp.list":
        return this.#list(job, submission.op);
      case "history.add":
      case "history.get":
        return this.#door.post(job, historyReply(this.#history, submission));
      case "shell":
        if (this.#turn?.isOpen !== true || !isOp(job, "shell")) return this.#queue.add(job);
        job.kept.take(job.id);
        return this.#runBeside(job, async (signal) => shellResult(this.#conversation, job, signal));
      case "input":
      case "settings":
      case "compact":
      case "undo":
      case "rollback":
      case "review":
      case "clear":
      case "mcp.refresh":
        this.#queue.add(job);
        return this.#turn?.steer();
      default:
        submission satisfies never;
    }
  }

  /** Ends the turn, or the one that was about to begin. False when there was nothing to end. */
  #interruptAll(): boolean {
    const wasStart = this.#lines.takeInterrupt();
    if (this.#interrupt("The turn was interrupted")) return true;
    const due = this.#queue.takeTurn();
    if (due === undefined) return wasStart;
    this.#door.post(due, cancelled("The turn was interrupted before it began", "interrupted"));
    return true;
  }

  /** Ends the turn. A question that is open is denied, so that the call is told and counted. */
  #interrupt(message: string): boolean {
    this.#questions.withdraw("the turn was interrupted");
    const reason = new KodaError("interrupted", message, { retryable: true });
    this.#stopCommands.abort(reason);
    this.#stopCommands = new AbortController();
    const stop = this.#turn?.stop ?? this.#step;
    stop?.abort(reason);
    return stop !== undefined;
  }

  #list(job: Submitted, op: Parameters<typeof listFor>[0]): void {
    this.#door.post(job, done(listFor(op, this.#conversation)));
  }

  #answer(job: Submitted, answer: SubmissionOf<"approve" | "answer" | "elicit">): void {
    const problem = this.#questions.answer(answer);
    if (problem !== undefined && answer.op === "approve")
      this.#posted.post({ type: "notice", level: "warn", code: "approval", message: problem });
    this.#door.post(job, problem === undefined ? done() : refused("usage", problem));
  }

  async *#work(reading: Promise<void>): AsyncGenerator<Event, void> {
    while (true) {
      const next = yield* this.#conversation.parts.events.until(this.#next());
      if (next === "over") break;
      yield* next instanceof ChatTurn ? this.#converse(next) : this.#perform(next);
    }
    // They were stopped as well.
    yield* this.#conversation.parts.events.until(Promise.all(this.#commands));
    this.#host.signal.throwIfAborted();
    for (const job of this.#queue.drain()) yield this.#door.reply(job, cancelled("The chat was shut down before"));
    // A pipe may stay open for hours.
    if (!this.#isStopped) await reading;
  }

  /** The next submission; a turn is also for the answers of agents in the background. */
  async #next(): Promise<Submitted | ChatTurn | "over"> {
    const agents = this.#conversation.agents.background;
    while (true) {
      const isRunning = agents.running.length > 0;
      if (this.#isStopped || this.#host.signal.aborted) return "over";
      const job = this.#queue.next();
      if (job !== undefined && !beginsTurn(job)) return job;
      if (job !== undefined || !agents.isEmpty) {
        // From now on it is in progress, also for what is submitted before its first event.
        const parts = { opened: this.#opened, queue: this.#queue, review: this.#review };
        return (this.#turn = new ChatTurn(job, parts));
      }
      const isBusy = isRunning || this.#commands.size > 0;
      if (this.#queue.isOver && !isBusy) return "over";
      const changed = this.#queue.changed();
      // Nothing is expected of the model or of a tool.
      using _ = isBusy ? undefined : this.#host.clocks.pauseIdle();
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

  async *#converse(turn: ChatTurn): AsyncGenerator<Event, void> {
    const signal = AbortSignal.any([this.#host.signal, turn.stop.signal]);
    let outcome: Outcome;
    try {
      outcome = yield* turn.run(signal);
    } catch (error) {
      if (!(error instanceof KodaError)) throw error;
      outcome = outcomeOfError(error, signal, "");
    } finally {
      this.#turn = undefined;
    }
    this.#last = outcome;
    // All are stored before the first of them is told, which takes as long as its reader does.
    yield* turn.end().map((job) => this.#door.reply(job, turn.replyTo(job, outcome)));
    this.#opened.assertOpen();
    yield* this.#failures.in(this.#conversation.parts.servers.statuses);
    yield* turn.changeSettings();
  }

  /** Carries out at once what takes longer, beside a turn that may run. */
  #runBeside(job: Submitted, work: (signal: AbortSignal) => Promise<unknown>): void {
    const running = this.#answerWith(job, work);
    this.#commands.add(running);
    void running.finally(() => {
      this.#commands.delete(running);
      this.#queue.wake();
    });
  }

  async #answerWith(job: Submitted, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const signal = AbortSignal.any([this.#host.signal, this.#stopCommands.signal]);
    try {
      this.#door.post(job, done(await work(signal)));
    } catch (error) {
      this.#door.post(job, byOutcome(outcomeOfError(error, this.#host.signal, "")));
    }
  }
}
