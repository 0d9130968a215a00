import { openStore, type Store } from "../session/store.ts";

/** The open databases of a process. Each has one connection: closing a second one would drop the locks of the first. */
export class Stores implements AsyncDisposable {
  readonly #open = new Map<string, Store>();

  open(path: string): Store {
    const store = this.#open.get(path) ?? openStore(path);
    this.#open.set(path, store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack();
    for (const store of this.#open.values()) closing.defer(() => store.leave());
  }
}
