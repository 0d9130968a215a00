import type { EventOf } from "../engine/event.ts";
import { isAnswer } from "./answer.ts";

/**
 * Text of the model that is not the answer: text before a call, of a failed attempt, of a rejected reply. Where stdout
 * has only the answer, this goes to stderr as soon as it is certain not to be the answer.
 */
export class Commentary {
  /** Complete replies since the last call, any of which may be (part of) the answer. */
  #replies: string[] = [];
  #current = "";
  /** The length of the part of the current reply that was returned before it was complete. */
  #taken = 0;
  readonly #hasSchema: boolean;

  constructor(hasSchema: boolean) {
    this.#hasSchema = hasSchema;
  }

  add(delta: string): void {
    this.#current += delta;
  }

  /** The current reply is complete. */
  close(text: string): void {
    const rest = text.slice(this.#taken);
    if (rest !== "") this.#replies.push(rest);
    this.#restart();
  }

  /** Everything before a call is commentary. */
  beforeCall(): string {
    const text = this.#take(this.#current.slice(this.#taken));
    this.#taken = this.#current.length;
    return text;
  }

  /** A failed attempt is void, and the reply starts again. */
  afterRetry(): string {
    const text = this.#take(this.#current.slice(this.#taken));
    this.#restart();
    return text;
  }

  /** After a turn of a conversation: everything but its answer. */
  afterTurn(isComplete: boolean): string {
    if (isComplete) this.#replies.pop();
    const text = this.#take(this.#current.slice(this.#taken));
    this.#restart();
    return text;
  }

  /** Text that neither the answer nor anything before has shown. */
  atEnd(end: EventOf<"end">): string {
    const isWhole = this.#replies.length > 0 && this.#current === "";
    const isAnswered = isAnswer(end, { isWhole, hasSchema: this.#hasSchema });
    if (isAnswered) this.#replies = this.#replies.filter((reply) => !end.text.includes(reply.trim()));
    return this.#take(isAnswered ? "" : this.#current.slice(this.#taken));
  }

  #restart(): void {
    this.#current = "";
    this.#taken = 0;
  }

  #take(last: string): string {
    const texts = [...this.#replies, last].map((text) => text.trim()).filter((text) => text !== "");
    this.#replies = [];
    return texts.join("\n");
  }
}
