import { tokensOf } from "../session/contextsize.ts";
import type { ItemOf, LoggedItem } from "../session/item.ts";

/** The items that a compaction leaves as they are, by their places in the log. */
type Retention = {
  kept: readonly number[];
  tail: readonly number[];
  /** Results in the tail that are too long for it, and prompts that would leave no room for the work. */
  trims: ItemOf<"trim">["results"];
  /** The number of items that a summary replaces. */
  replaced: number;
};

/** Shares of the window. With system prompt, tools and summary they have to stay well below its limit. */
const tailShare = 0.15;
const promptShare = 0.1;
const mostPromptTokens = 20_000;
const tailMessages = 4;
const shortestResult = 400;
/** A prompt that takes more than the first is cut to the second. */
const longestPromptShare = 0.3;
const cutPromptShare = 0.2;

/**
 * Chooses what stays verbatim: the environment, the first prompt, the latest prompts, the todo list, the active skill,
 * and the last messages, in which long results are trimmed.
 */
export function retain(items: readonly LoggedItem[], window: number): Retention {
  const tail = tailOf(items, window * tailShare);
  const inTail = new Set(tail);
  const prompts = items.filter((item) => item.kind === "user" && !inTail.has(item));
  const room = Math.min(mostPromptTokens, window * promptShare);
  const kept = new Set<LoggedItem>([
    ...items.filter((item) => item.kind === "environment"),
    ...prompts.slice(0, 1),
    ...latestWithin(prompts.slice(1), room),
    ...items.filter(({ kind }) => kind === "images_removed"),
    ...lastOf(items, (item) => item.kind === "todo"),
    ...lastOf(items, (item) => item.kind === "note" && item.skill !== undefined),
    ...lastOf(items, (item) => item.kind === "turn_start" || item.kind === "turn_end"),
  ]);
  const seqs = new Set([...kept, ...tail].map(({ seq }) => seq));
  for (const item of items) if (item.kind === "trim" && item.results.some(({ seq }) => seqs.has(seq))) kept.add(item);
  const replaced = items.filter((item) => tokensOf(item) > 0 && !kept.has(item) && !inTail.has(item));
  return {
    kept: items.filter((item) => kept.has(item) && !inTail.has(item)).map(({ seq }) => seq),
    tail: tail.map(({ seq }) => seq),
    trims: [...promptTrims([...kept, ...tail], window), ...trimsOf(tail, window * tailShare)],
    replaced: replaced.length,
  };
}

/** A reply with its results, or one message of the user or koda. */
type Exchange = LoggedItem[];

/** The last messages, whole exchanges of them. Only the very last exchange may be larger than the room. */
function tailOf(items: readonly LoggedItem[], room: number): LoggedItem[] {
  const tail: LoggedItem[] = [];
  let tokens = 0;
  for (const exchange of exchangesOf(items).reverse()) {
    const size = exchange.reduce((sum, item) => sum + (item.kind === "result" ? 0 : tokensOf(item)), 0);
    if (tail.length >= tailMessages || (tail.length > 0 && tokens + size > room)) break;
    tail.unshift(...exchange);
    tokens += size;
  }
  return tail;
}

/** Messages that come before the last result of a reply belong to its exchange. */
function exchangesOf(items: readonly LoggedItem[]): Exchange[] {
  const exchanges: Exchange[] = [];
  let due = 0;
  for (const item of items) {
    if (item.kind === "result") due--;
    else if (item.kind === "assistant") due = item.parts.filter(({ type }) => type === "call").length;
    else if (item.kind !== "user" && item.kind !== "note") continue;
    const isPart = item.kind === "result" || (item.kind !== "assistant" && due > 0);
    if (isPart) exchanges.at(-1)?.push(item);
    else exchanges.push([item]);
  }
  return exchanges;
}

function latestWithin(items: readonly LoggedItem[], room: number): LoggedItem[] {
  let left = room;
  const first = items.findLastIndex((item) => (left -= tokensOf(item)) < 0);
  return items.slice(first + 1);
}

function lastOf(items: readonly LoggedItem[], isWanted: (item: LoggedItem) => boolean): LoggedItem[] {
  const last = items.findLast(isWanted);
  return last === undefined ? [] : [last];
}

/** Shares the room among the results: short ones stay whole, and the long ones get the same length. */
function trimsOf(tail: readonly LoggedItem[], room: number): ItemOf<"trim">["results"] {
  const results = tail.filter((item) => item.kind === "result").sort((a, b) => tokensOf(a) - tokensOf(b));
  let left = room - tail.reduce((sum, item) => sum + (item.kind === "result" ? 0 : tokensOf(item)), 0);
  return results.flatMap((item, index) => {
    const share = left / (results.length - index);
    const tokens = tokensOf(item);
    left -= Math.min(tokens, share);
    if (tokens <= share) return [];
    return [{ seq: item.seq, length: Math.max(shortestResult, charactersIn(item, share)) }];
  });
}

function promptTrims(items: readonly LoggedItem[], window: number): ItemOf<"trim">["results"] {
  return items.flatMap((item) =>
    item.kind === "user" && tokensOf(item) > window * longestPromptShare
      ? [{ seq: item.seq, length: charactersIn(item, window * cutPromptShare) }]
      : [],
  );
}

/** The part of its characters that takes so many tokens. */
function charactersIn(item: (ItemOf<"result"> | ItemOf<"user">) & LoggedItem, tokens: number): number {
  const characters = item.parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  return Math.floor((characters * tokens) / tokensOf(item));
}
