import { appendRefusal } from "./log.ts";
import { mostRefusals, type EgressRefusal } from "./refusal.ts";

/** The refusals of one session. What a failing command was refused is a part of what the model is told about it. */
export class Refusals {
  readonly #dataDirectory: string | undefined;
  #latest: readonly EgressRefusal[] = [];
  #count = 0;

  /** Without a directory, which is how a run is that keeps nothing, they are forgotten with the session. */
  constructor(dataDirectory: string | undefined) {
    this.#dataDirectory = dataDirectory;
  }

  add(refusal: Omit<EgressRefusal, "at">): void {
    const whole = { at: new Date().toISOString(), ...refusal };
    this.#latest = [...this.#latest, whole].slice(-mostRefusals);
    this.#count += 1;
    if (this.#dataDirectory !== undefined) appendRefusal(whole, this.#dataDirectory);
  }

  /** Now, for a later `since`. */
  get mark(): number {
    return this.#count;
  }

  /** Oldest first; the oldest may be forgotten when there were very many. */
  since(mark: number): readonly EgressRefusal[] {
    const news = this.#count - mark;
    return news <= 0 ? [] : this.#latest.slice(-news);
  }
}
