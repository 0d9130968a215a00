import type { Input, Prompt } from "../engine/turn.ts";

/** Another place from which input comes. */
export type InboxSource = {
  readonly isEmpty: boolean;
  /** Settles when what is due has come. */
  ready(): Promise<void>;
  take(): Input[];
};

/** Input that comes while a turn runs. The turn takes it between its requests, and once more before it ends. */
export class Inbox {
  readonly #prompts: Prompt[] = [];
  readonly #others: readonly InboxSource[];
  readonly #sources: (() => Promise<void>)[] = [];
  readonly #failures: unknown[] = [];

  constructor(...others: readonly InboxSource[]) {
    this.#others = others;
  }

  add(input: Prompt): void {
    this.#prompts.push(input);
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
    const taken = this.#others.flatMap((source) => source.take());
    if (taken.length + this.#prompts.length === 0 && this.#failures.length > 0) throw this.#failures.shift();
    return [...taken, ...this.#prompts.splice(0).map((parts): Input => ({ kind: "prompt", parts }))];
  }

  /** The prompts that have come, as one. */
  takePrompt(): Prompt {
    return this.#prompts.splice(0).flat();
  }

  /** The same, when nothing more is about to come. */
  async settled(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source()));
    await this.ready();
  }
}
