const window = 20;
const tolerated = 3;

/** How a call stands against the calls before it. */
export type Repetition = "new" | "repeated" | "stuck";

/**
 * Notices a model that goes round in circles: the same call, with the same whole arguments and the same result, three
 * times within twenty calls is worth a word to it; once more after that word, and the run is stuck.
 */
export class LoopGuard {
  #recent: string[] = [];
  readonly #warned = new Set<string>();

  observe(tool: string, input: unknown, result: string): Repetition {
    const print = String(Bun.hash(`${tool}\0${canonical(input)}\0${result}`));
    this.#recent = [...this.#recent, print].slice(-window);
    const times = this.#recent.filter((other) => other === print).length;
    if (times < tolerated) return "new";
    if (this.#warned.has(print)) return "stuck";
    this.#warned.add(print);
    return "repeated";
  }
}

/** JSON with its keys in order, so that `{a, b}` and `{b, a}` are the same call. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
