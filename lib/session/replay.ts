import type { Message } from "../model/message.ts";
import { ContextSize } from "./contextsize.ts";
import { History } from "./history.ts";
import type { ItemOf, LoggedItem } from "./item.ts";
import { withoutImages } from "./removedimages.ts";
import { trimmed } from "./trimmed.ts";

/**
 * The state of a conversation as a function of its log: the items that the model still sees, and the messages that they
 * make. Markers in the log change what came before them.
 */
export class Replay {
  #items: LoggedItem[] = [];
  #history = new History();
  #size = new ContextSize();

  /** The items of `readLive`: none from before the last compaction but those it kept, and none of dropped turns. */
  constructor(items: readonly LoggedItem[]) {
    // The messages are made once, however many markers there are.
    const begin = items.findLastIndex(isMarker) + 1;
    for (const item of items.slice(0, begin)) this.#items = applied(this.#items, item);
    if (begin > 0) this.#rebuild();
    for (const item of items.slice(begin)) this.add(item);
  }

  add(item: LoggedItem): void {
    this.#items = applied(this.#items, item);
    if (isMarker(item)) this.#rebuild();
    else this.#show(item);
  }

  /** In the order in which the model sees them. Results may be trimmed. */
  get items(): readonly LoggedItem[] {
    return this.#items;
  }

  messages(): Message[] {
    return this.#history.messages();
  }

  /** The size of the next request in tokens, with this size of system prompt and tools. */
  tokens(overhead: () => number): number {
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
    this.#history.add(item);
    this.#size.add(item);
  }
}

/** Markers change what came before them. */
function isMarker({ kind }: LoggedItem): boolean {
  return kind === "compaction" || kind === "trim" || kind === "images_removed";
}

/** The items with one more, in place where nothing else changes. */
function applied(items: LoggedItem[], item: LoggedItem): LoggedItem[] {
  if (item.kind === "compaction") return compacted(items, item);
  if (item.kind === "trim") return withTrimmed(items, item);
  if (item.kind === "images_removed") return withoutImages(items, item);
  items.push(item);
  return items;
}

function compacted(items: readonly LoggedItem[], marker: ItemOf<"compaction"> & LoggedItem): LoggedItem[] {
  const bySeq = new Map(items.map((item) => [item.seq, item]));
  const named = (seqs: readonly number[]) => seqs.map((seq) => bySeq.get(seq)).filter((item) => item !== undefined);
  return [...named(marker.kept), marker, ...named(marker.tail)];
}

function withTrimmed(items: readonly LoggedItem[], marker: ItemOf<"trim"> & LoggedItem): LoggedItem[] {
  const lengths = new Map(marker.results.map(({ seq, length }) => [seq, length]));
  const shown = items.map((item) => {
    const length = lengths.get(item.seq);
    const isText = item.kind === "result" || item.kind === "user";
    return isText && length !== undefined ? trimmed(item, length) : item;
  });
  return [...shown, marker];
}
