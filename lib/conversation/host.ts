import { Traffic, type TrafficOptions } from "../model/traffic.ts";
import { openStore, type Store } from "../session/store.ts";
import type { Reaper } from "../shell/reaper.ts";
import { Clocks } from "./clocks.ts";
import type { Conversation } from "./conversation.ts";

type HostOptions = {
  /** Stops every conversation. The signal's reason says why. */
  stop: AbortController;
  cassette: TrafficOptions;
  /** Finds processes that escaped; absent where the process has children of its own. */
  reaper?: Reaper;
};

/** Everything that a process has once, however many conversations run in it. */
export class Host implements AsyncDisposable {
  readonly startedAt: number = performance.now();
  readonly signal: AbortSignal;
  readonly clocks: Clocks;
  readonly traffic: Traffic;
  readonly reaper: Reaper | undefined;
  readonly #stores = new Map<string, Store>();
  readonly #conversations = new Set<Conversation>();

  constructor({ stop, cassette, reaper }: HostOptions) {
    this.signal = stop.signal;
    this.clocks = new Clocks(stop);
    this.traffic = new Traffic(cassette);
    this.reaper = reaper;
  }

  /** The store at a path. One connection per process: closing a second one would drop the locks of the first. */
  store(path: string): Store {
    const store = this.#stores.get(path) ?? openStore(path);
    this.#stores.set(path, store);
    return store;
  }

  add(conversation: Conversation): void {
    this.#conversations.add(conversation);
  }

  delete(conversation: Conversation): void {
    this.#conversations.delete(conversation);
  }

  /** Kills every command without waiting, for a process that is about to exit. */
  killNow(): void {
    for (const { parts } of this.#conversations) parts.workspace.killNow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack();
    for (const store of this.#stores.values()) closing.defer(() => store.leave());
    closing.use(this.traffic);
    for (const conversation of this.#conversations) closing.use(conversation);
  }
}
