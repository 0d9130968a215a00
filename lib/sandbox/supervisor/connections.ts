import type { ConnectRules, Refusal } from "./rules.ts";
import { Supervisor } from "./supervisor.ts";

/** Who answers when commands connect; it begins with the first command, since its thread costs a few milliseconds. */
export class Connections implements Disposable {
  readonly #rules: ConnectRules;
  readonly #onRefusal: (refusal: Refusal) => void;
  #supervisor: Supervisor | undefined;

  constructor(rules: ConnectRules, { onRefusal }: { onRefusal: (refusal: Refusal) => void }) {
    this.#rules = rules;
    this.#onRefusal = onRefusal;
  }

  /** The commands' end. */
  get socket(): number {
    if (this.#supervisor === undefined) {
      this.#supervisor = Supervisor.start(this.#rules, this.#onRefusal);
      // Without its thread every connect() of a command fails, and says so itself.
      this.#supervisor.ready.catch(() => undefined);
    }
    return this.#supervisor.socket;
  }

  [Symbol.dispose](): void {
    this.#supervisor?.[Symbol.dispose]();
  }
}
