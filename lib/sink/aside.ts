import type { EventOf } from "../engine/event.ts";

/**
 * Text of the model that is not the answer: said before a call, in an attempt that broke, in a reply that was sent
 * back. Where stdout has only the answer, people read it on stderr, once it is sure what it is.
 */
export class Asides {
  /** Whole replies since the last call, any of which may be (part of) the answer. */
  #replies: string[] = [];
  #current = "";
  /** How much of the current reply was handed out before it was whole. */
  #taken = 0;
  readonly #hasSchema: boolean;

  /** With a schema, the last reply of a run that failed is no answer. */
  constructor(hasSchema: boolean) {
    this.#hasSchema = hasSchema;
  }

  add(delta: string): void {
    this.#current += delta;
  }

  /** The current reply is whole. */
  close(text: string): void {
    const rest = text.slice(this.#taken);
    if (rest !== "") this.#replies.push(rest);
    this.#current = "";
    this.#taken = 0;
  }

  /** A call came: all so far was said on the way. */
  beforeCall(): string {
    const text = this.#take(this.#current.slice(this.#taken));
    this.#taken = this.#current.length;
    return text;
  }

  /** The attempt broke: what came of it is void, and the reply begins anew. */
  broken(): string {
    const text = this.#take(this.#current.slice(this.#taken));
    this.#current = "";
    this.#taken = 0;
    return text;
  }

  /** What neither the answer nor anything before has shown. */
  atEnd({ status, text }: EventOf<"end">): string {
    const isAnswered = status === "done" || (!this.#hasSchema && this.#replies.length > 0 && this.#current === "");
    if (isAnswered) this.#replies = this.#replies.filter((reply) => !text.includes(reply.trim()));
    return this.#take(isAnswered ? "" : this.#current.slice(this.#taken));
  }

  #take(last: string): string {
    const texts = [...this.#replies, last].map((text) => text.trim()).filter((text) => text !== "");
    this.#replies = [];
    return texts.join("\n");
  }
}
