const window = 20;
const tolerated = 3;

/** The relation of a call to the calls before it. */
export type Repetition = "new" | "repeated" | "stuck";

/**
 * Detects a model that repeats itself: the same call with the same arguments and the same result, three times within
 * twenty calls, gets a note; once more after that note, and the run is stuck.
 */
export class LoopGuard {
  #recent: string[] = [];
  readonly #warned = new Set<string>();
  readonly #reply = new Set<string>();

  /** The same call twice in one reply counts once: the model has not seen the first result. */
  beginReply(): void {
    this.#reply.clear();
  }

  observe(tool: string, input: unknown, result: string): Repetition {
    const print = String(Bun.hash(`${tool}\0${canonical(input)}\0${result}`));
    if (this.#reply.has(print)) return "new";
    this.#reply.add(print);
    this.#recent = [...this.#recent, print].slice(-window);
    const times = this.#recent.filter((other) => other === print).length;
    if (times < tolerated) return "new";
    if (this.#warned.has(print)) return "stuck";
    this.#warned.add(print);
    return "repeated";
  }
}

/** JSON with sorted keys, so that `{a, b}` and `{b, a}` are the same call. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
