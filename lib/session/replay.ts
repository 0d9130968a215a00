import type { Message } from "../model/message.ts";
import { ContextSize } from "./contextsize.ts";
import { History } from "./history.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { trimmed } from "./trimmed.ts";

/**
 * What a log comes to: the items that the model still sees, in its order, and the messages that they make. Markers in
 * the log change what came before them, so that the same items always give the same conversation.
 */
export class Replay {
  #items: LoggedItem[] = [];
  /** The most characters that are sent of a result, by its place in the log. */
  #lengths = new Map<number, number>();
  #history = new History();
  #size = new ContextSize();

  /** The items of `readLive`: none from before the last compaction but those it kept, and none of dropped turns. */
  constructor(items: Iterable<LoggedItem>) {
    for (const item of items) this.add(item);
  }

  add(item: LoggedItem): void {
    switch (item.kind) {
      case "compaction":
        this.#items = compacted(this.#items, item);
        this.#lengths = new Map();
        this.#rebuild();
        break;
      case "trim":
        for (const { seq, length } of item.results) this.#lengths.set(seq, length);
        this.#rebuild();
        break;
      default:
        this.#items.push(item);
        this.#show(item);
    }
  }

  get items(): readonly LoggedItem[] {
    return this.#items;
  }

  /** A result may have been trimmed. */
  messages(): Message[] {
    return this.#history.messages();
  }

  /** The size of the next request in tokens, when system prompt and tools have this one. */
  tokens(overhead: number): number {
    return this.#size.tokens(overhead);
  }

  #rebuild(): void {
    this.#history = new History();
    this.#size = new ContextSize();
    for (const item of this.#items) this.#show(item);
    // Figures that were reported for other messages say nothing about these.
    this.#size.forgetReported();
  }

  #show(item: LoggedItem): void {
    const length = this.#lengths.get(item.seq);
    const shown = item.kind === "result" && length !== undefined ? trimmed(item, length) : item;
    this.#history.add(shown);
    this.#size.add(shown);
  }
}

function compacted(items: readonly LoggedItem[], marker: ItemOf<"compaction"> & LoggedItem): LoggedItem[] {
  const bySeq = new Map(items.map((item) => [item.seq, item]));
  const named = (seqs: readonly number[]) => seqs.map((seq) => bySeq.get(seq)).filter((item) => item !== undefined);
  return [...named(marker.kept), marker, ...named(marker.tail)];
}
