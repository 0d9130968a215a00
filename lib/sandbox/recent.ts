/** A cache of the values that were used last; the one that is unused for longest is dropped. */
export class Recent<Key, Value> {
  readonly #most: number;
  readonly #drop: (value: Value) => void;
  /** The longest unused first. */
  readonly #entries = new Map<Key, Value>();

  constructor(most: number, drop: (value: Value) => void) {
    this.#most = most;
    this.#drop = drop;
  }

  get(key: Key, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const [oldest, unused] of this.#entries) {
      if (this.#entries.size <= this.#most) break;
      this.#entries.delete(oldest);
      this.#drop(unused);
    }
    return value;
  }

  entries(): Iterable<[Key, Value]> {
    return this.#entries.entries();
  }
}
