import { Mailbox } from "../async/mailbox.ts";
import type { Event } from "../engine/event.ts";
import type { ChatLine } from "./door.ts";
import { refused, type SubmissionReply } from "./reply.ts";
import type { Submission } from "./submission.ts";

export type NewSubmission = Submission extends infer S ? (S extends Submission ? Omit<S, "id"> : never) : never;

/** Submits to a chat in this process: each submission settles with its reply. */
export class Submitter {
  readonly #submitted = new Mailbox<ChatLine>();
  readonly #waiting = new Map<string, (reply: SubmissionReply) => void>();

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Everything that is submitted until `end` settles. */
  lines(end: Promise<void>): AsyncGenerator<ChatLine, void> {
    return this.#submitted.until(end);
  }

  submit(submission: NewSubmission): Promise<SubmissionReply> {
    const id = Bun.randomUUIDv7();
    const { promise, resolve } = Promise.withResolvers<SubmissionReply>();
    this.#waiting.set(id, resolve);
    this.#submitted.post({ submission: { id, ...submission } as Submission });
    return promise;
  }

  /** Takes note of an event of the chat. */
  see(event: Event): void {
    if (event.type === "reply") this.#settle(event.submission, event);
    if (event.type === "rejected") this.#settle(event.submission ?? "", refused(event.error.code, event.error.message));
  }

  /** The chat is over: nothing that still waits gets a reply from it. */
  abandon(reply: SubmissionReply): void {
    for (const id of this.#waiting.keys()) this.#settle(id, reply);
  }

  #settle(id: string, reply: SubmissionReply): void {
    this.#waiting.get(id)?.(reply);
    this.#waiting.delete(id);
  }
}
