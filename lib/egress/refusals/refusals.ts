import { appendRefusal, type EgressRefusal, mostRefusals } from "./log.ts";

/** The last refusal of each call, which is a part of what the model is told about a failing command. */
export class Refusals {
  readonly #dataDirectory: string | undefined;
  readonly #byCall = new Map<string, EgressRefusal>();

  /** Without a directory nothing is kept for `koda doctor`. */
  constructor(dataDirectory: string | undefined) {
    this.#dataDirectory = dataDirectory;
  }

  add(given: Omit<EgressRefusal, "at">): void {
    const refusal = { at: new Date().toISOString(), ...given };
    if (this.#dataDirectory !== undefined) appendRefusal(refusal, this.#dataDirectory);
    if (refusal.tool === undefined) return;
    this.#byCall.delete(refusal.tool);
    this.#byCall.set(refusal.tool, refusal);
    for (const oldest of this.#byCall.keys()) if (this.#byCall.size > mostRefusals) this.#byCall.delete(oldest);
  }

  /** Undefined when the call was refused nothing, or too many others were since. */
  lastOf(call: string): EgressRefusal | undefined {
    return this.#byCall.get(call);
  }
}
