import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Event } from "../engine/event.ts";
import type { Calls } from "./calls.ts";

/** The output of a call is sent again as a whole, so not with every piece. */
const everyMs = 100;

/** The output of running calls. */
export class RunningOutput {
  readonly #calls: Calls;
  readonly #update: (update: SessionUpdate) => Promise<void>;
  readonly #due = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(calls: Calls, update: (update: SessionUpdate) => Promise<void>) {
    this.#calls = calls;
    this.#update = update;
  }

  see(event: Event): void {
    if (event.type === "tool.output") this.#add(event.id, event.text);
    // The result has all of it.
    if (event.type === "tool.end") this.#forget(event.id);
    if (event.type === "end") for (const id of this.#due.keys()) this.#forget(id);
  }

  #add(id: string, text: string): void {
    if (!this.#calls.addOutput(id, text) || this.#due.has(id)) return;
    this.#due.set(
      id,
      setTimeout(() => {
        this.#due.delete(id);
        const update = this.#calls.outputOf(id);
        if (update !== undefined) void this.#update(update);
      }, everyMs),
    );
  }

  #forget(id: string): void {
    clearTimeout(this.#due.get(id));
    this.#due.delete(id);
  }
}
