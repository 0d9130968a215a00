import type { Input, Prompt } from "../engine/turn.ts";
import type { ItemOf } from "../session/item.ts";

type PromptInput = Extract<Input, { kind: "prompt" }>;

/** Another place from which input comes. */
export type InboxSource = {
  readonly isEmpty: boolean;
  /** Settles when what is due has come. */
  ready(): Promise<void>;
  take(): Input[];
};

/** Input that comes while a turn runs. The turn takes it between its requests, and once more before it ends. */
export class Inbox {
  readonly #prompts: PromptInput[] = [];
  readonly #notes: ItemOf<"note">[] = [];
  readonly #others: readonly InboxSource[];
  readonly #sources: (() => Promise<void>)[] = [];
  readonly #failures: unknown[] = [];

  constructor(...others: readonly InboxSource[]) {
    this.#others = others;
  }

  add(parts: Prompt, submission?: string): void {
    this.#prompts.push({ kind: "prompt", parts, submission });
  }

  addNote(item: ItemOf<"note">): void {
    this.#notes.push(item);
  }

  takeNotes(): ItemOf<"note">[] {
    return this.#notes.splice(0);
  }

  /** A turn ends when every source has answered that nothing more comes for now. */
  expect(source: () => Promise<void>): void {
    this.#sources.push(source);
  }

  /** The turn fails with this error: its input cannot be read. */
  fail(error: unknown): void {
    this.#failures.push(error);
  }

  get isEmpty(): boolean {
    return this.#prompts.length + this.#failures.length === 0 && this.#others.every(({ isEmpty }) => isEmpty);
  }

  /** Settles when what is due has come. Nothing is taken: whoever waits may be interrupted. */
  async ready(): Promise<void> {
    await Promise.all(this.#others.map((source) => source.ready()));
  }

  /** Everything that has come. */
  take(): Input[] {
    const notes = this.takeNotes().map((item): Input => ({ kind: "result", item }));
    const taken = [...notes, ...this.#others.flatMap((source) => source.take())];
    if (taken.length + this.#prompts.length === 0 && this.#failures.length > 0) throw this.#failures.shift();
    return [...taken, ...this.takePrompts()];
  }

  /** The prompts that have come. */
  takePrompts(): PromptInput[] {
    return this.#prompts.splice(0);
  }

  /** The same, when nothing more is about to come. */
  async settled(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source()));
    await this.ready();
  }
}
