import type { ConnectRules, Refusal } from "./rules.ts";
import { Supervisor } from "./supervisor.ts";

/** Connections of commands under one set of rules. */
export class Connections implements Disposable {
  readonly #rules: ConnectRules;
  readonly #supervisor: Supervisor;

  constructor(rules: ConnectRules, { onRefusal }: { onRefusal: (refusal: Refusal) => void }) {
    this.#rules = rules;
    this.#supervisor = new Supervisor(onRefusal);
  }

  /** The commands' end. */
  get socket(): number {
    return this.#supervisor.socketFor(this.#rules);
  }

  [Symbol.dispose](): void {
    this.#supervisor[Symbol.dispose]();
  }
}
