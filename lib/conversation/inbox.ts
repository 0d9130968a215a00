import type { Prompt } from "../engine/turn.ts";

/** Input that comes while a turn runs. The turn takes it between its requests, and once more before it ends. */
export class Inbox {
  readonly #inputs: Prompt[] = [];
  readonly #expected: Promise<unknown>[] = [];
  readonly #failures: unknown[] = [];

  add(input: Prompt): void {
    this.#inputs.push(input);
  }

  /** A turn does not end before this promise, which never fails, is fulfilled. */
  expect(input: Promise<unknown>): void {
    this.#expected.push(input);
  }

  /** The turn fails with this error: its input cannot be read. */
  fail(error: unknown): void {
    this.#failures.push(error);
  }

  /** Everything that has come. */
  take(): Prompt[] {
    if (this.#failures.length > 0) throw this.#failures.shift();
    return this.#inputs.splice(0);
  }

  /** The same, with everything that is expected. */
  async takeLast(): Promise<Prompt[]> {
    while (this.#expected.length > 0) await this.#expected.shift();
    return this.take();
  }
}
