import type { Prompt } from "../engine/turn.ts";

/** Input that comes while a turn runs. The turn takes it between its requests, and once more before it ends. */
export class Inbox {
  readonly #inputs: Prompt[] = [];
  readonly #sources: (() => Promise<void>)[] = [];
  readonly #failures: unknown[] = [];

  add(input: Prompt): void {
    this.#inputs.push(input);
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
    return this.#inputs.length + this.#failures.length === 0;
  }

  /** Everything that has come. */
  take(): Prompt[] {
    if (this.#inputs.length === 0 && this.#failures.length > 0) throw this.#failures.shift();
    return this.#inputs.splice(0);
  }

  /** The same, with what is about to come. */
  async takeLast(): Promise<Prompt[]> {
    await Promise.all(this.#sources.map((source) => source()));
    return this.take();
  }
}
