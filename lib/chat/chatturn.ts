import type { TurnRequest } from "../conversation/conversation.ts";
import { expandRequest } from "../conversation/definitions.ts";
import type { Event } from "../engine/event.ts";
import { renewRequests } from "../engine/ledger.ts";
import type { Outcome } from "../engine/outcome.ts";
import type { Prompt } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import type { ChatConversation } from "./chatconversation.ts";
import { type Queue, type Submitted, type SubmittedOf } from "./queue.ts";
import { byOutcome, ofTurn, refused, type SubmissionReply } from "./reply.ts";
import type { ReviewOptions } from "./reviewturn.ts";
import type { SubmissionOf } from "./submission.ts";

type TurnParts = { opened: ChatConversation; queue: Queue; review: ReviewOptions };

/** A turn, from the moment in which it is due; one that nothing begins is for the answers of agents. */
export class ChatTurn {
  readonly stop = new AbortController();
  readonly #first: SubmittedOf<"input" | "review"> | undefined;
  readonly #parts: TurnParts;
  /** Input that it was given while it ran. */
  #steered: SubmittedOf<"input">[] = [];
  #isOpen = false;

  constructor(first: SubmittedOf<"input" | "review"> | undefined, parts: TurnParts) {
    this.#first = first;
    this.#parts = parts;
  }

  /** True from the moment in which it takes input. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async *run(signal: AbortSignal): AsyncGenerator<Event, Outcome> {
    const first = this.#first;
    const { opened, review: options } = this.#parts;
    if (first === undefined) return yield* this.#converse({ prompt: [], isWoken: true }, signal);
    const { submission } = first;
    if (submission.op === "input") {
      if (submission.settings !== undefined) yield* opened.change(submission.settings);
      return yield* this.#converse(requestOf(submission, opened), signal);
    }
    const { openReview } = await import("./reviewturn.ts");
    await using review = await openReview(opened.conversation, submission, { ...options, signal });
    if ("request" in review) return yield* this.#converse(review.request, signal);
    first.kept.take(first.id);
    return { status: "done", text: review.findings.summary, output: review.findings };
  }

  /** Gives it the input that has come. */
  steer(): void {
    if (!this.#isOpen) return;
    const { opened, queue } = this.#parts;
    for (const job of queue.inputs()) {
      this.#steered.push(job);
      opened.conversation.inbox.add(promptOf(job.submission), job.id);
    }
  }

  /** The submissions that were a part of it, once it is over. Input that came too late begins the next one. */
  end(): Submitted[] {
    const { opened, queue } = this.#parts;
    const late = new Set(opened.conversation.inbox.takePrompts().map(({ submission }) => submission));
    queue.putBack(this.#steered.filter(({ id }) => late.has(id)));
    this.#steered = this.#steered.filter(({ id }) => !late.has(id));
    return this.#first === undefined ? this.#steered : [this.#first, ...this.#steered];
  }

  /** An input that a hook has denied is not a part of the turn. */
  replyTo({ id, kept }: Submitted, outcome: Outcome): SubmissionReply {
    const { session } = this.#parts.opened.conversation.parts;
    if (kept.find(id)?.state === "taken") return ofTurn(outcome, this.#isOpen ? session.info.turns : undefined);
    if (outcome.status !== "done") return byOutcome(outcome);
    return refused("hook", "The input was denied by a hook, and is not a part of the turn");
  }

  /** The settings of input that it was given hold from the next turn. */
  async *changeSettings(): AsyncGenerator<Event, void> {
    for (const { submission } of this.#steered) {
      if (submission.settings === undefined) continue;
      try {
        yield* this.#parts.opened.change(submission.settings);
      } catch (error) {
        if (!(error instanceof KodaError)) throw error;
        const message = `The settings are as before: ${error.message}`;
        yield { type: "notice", level: "warn", code: "settings", message };
        this.#parts.opened.assertOpen();
      }
    }
  }

  async *#converse(request: TurnRequest, signal: AbortSignal): AsyncGenerator<Event, Outcome> {
    const { conversation } = this.#parts.opened;
    renewRequests(conversation.parts.ledger);
    this.#isOpen = true;
    this.steer();
    const id = this.#first?.id;
    return yield* tagged(conversation.run({ ...request, ...(id !== undefined && { submission: id }) }, signal), id);
  }
}

function requestOf(submission: SubmissionOf<"input">, { conversation, verify }: ChatConversation): TurnRequest {
  const { text, schema } = submission;
  const asked = expandRequest({ parts: promptOf(submission), words: text }, conversation.parts);
  return { ...asked, schema, verify };
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
