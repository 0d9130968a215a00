import type { Message } from "../model/message.ts";
import { ContextSize } from "./contextsize.ts";
import { History } from "./history.ts";
import type { ActiveSkill, ItemOf, LoggedItem } from "./item.ts";
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
  #latest: Latest = {};

  /** The items of `readLive`: none from before the last compaction but those it kept, and none of dropped turns. */
  constructor(items: readonly LoggedItem[]) {
    // The messages are made once, however many markers there are.
    let changed = 0;
    let from = 0;
    for (let at = 0; at < items.length; at++) {
      const item = items[at];
      if (item === undefined || !markers.has(item.kind)) continue;
      this.#items = applied([...this.#items, ...items.slice(from, at)], item);
      changed = this.#items.length;
      from = at + 1;
    }
    this.#items = from === 0 ? [...items] : [...this.#items, ...items.slice(from)];
    this.#rebuild(changed);
  }

  add(item: LoggedItem): void {
    const after = applied(this.#items, item);
    const isMarker = after !== this.#items;
    this.#items = after;
    if (isMarker) this.#rebuild(after.length);
    else this.#show(item);
  }

  /** In the order in which the model sees them. Results may be trimmed. */
  get items(): readonly LoggedItem[] {
    return this.#items;
  }

  get latest(): Readonly<Latest> {
    return this.#latest;
  }

  messages(): Message[] {
    return this.#history.messages();
  }

  /** The size of the next request in tokens, with this size of system prompt and tools. */
  tokens(overhead: () => number): number {
    return this.#size.tokens(overhead);
  }

  /** The last marker has changed the first items, this many. */
  #rebuild(changed: number): void {
    this.#history = new History();
    this.#size = new ContextSize();
    this.#latest = {};
    let shown = 0;
    for (const item of this.#items) {
      this.#show(item);
      // Figures that were reported for other messages say nothing about these.
      if (++shown === changed) this.#size.forgetReported();
    }
  }

  #show(item: LoggedItem): void {
    this.#history.add(item);
    switch (item.kind) {
      case "turn_start":
      case "turn_end":
        this.#latest.turn = item;
        return;
      case "environment":
        this.#latest.environment = item;
        break;
      case "todo":
        this.#latest.todo = item;
        break;
      case "note":
        if (item.skill !== undefined) this.#latest.skill = { seq: item.seq, ...item.skill };
        break;
    }
    this.#size.add(item);
  }
}

/** The kinds that change what came before them. */
const markers: ReadonlySet<string> = new Set(["compaction", "trim", "images_removed"]);

/** The last items of some kinds. */
type Latest = {
  environment?: ItemOf<"environment">;
  todo?: ItemOf<"todo">;
  turn?: ItemOf<"turn_start" | "turn_end">;
  /** The skill that was loaded last, and the place of its instructions. */
  skill?: ActiveSkill & { seq: number };
};

/** The items with one more; in place unless that is a marker, which changes what came before it. */
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
