import { Traffic, type TrafficOptions } from "../model/traffic.ts";
import type { Store } from "../session/store.ts";
import type { Reaper } from "../shell/reaper.ts";
import { Clocks } from "./clocks.ts";
import type { Conversation } from "./conversation.ts";
import { Stores } from "./stores.ts";

type HostOptions = {
  /** Stops every conversation. The signal's reason says why. */
  stop: AbortController;
  cassette: TrafficOptions;
  /** Finds processes that escaped; absent where the process has children of its own. */
  reaper?: Reaper;
  /** Those of the process, where it has several hosts; whoever opened them closes them. */
  stores?: Stores;
};

/** Everything that a run has once, however many conversations there are in it. */
export class Host implements AsyncDisposable {
  readonly startedAt: number = performance.now();
  readonly signal: AbortSignal;
  readonly clocks: Clocks;
  readonly traffic: Traffic;
  readonly reaper: Reaper | undefined;
  readonly #stores: Stores;
  readonly #own = new AsyncDisposableStack();
  readonly #conversations = new Set<Conversation>();

  constructor({ stop, cassette, reaper, stores }: HostOptions) {
    this.signal = stop.signal;
    this.clocks = new Clocks(stop);
    this.traffic = new Traffic(cassette);
    this.reaper = reaper;
    this.#stores = stores ?? this.#own.use(new Stores());
  }

  /** The store at a path. */
  store(path: string): Store {
    return this.#stores.open(path);
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
    closing.use(this.#own);
    closing.use(this.traffic);
    for (const conversation of this.#conversations) closing.use(conversation);
  }
}
