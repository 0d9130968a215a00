import type { ItemOf, LoggedItem } from "./item.ts";

export type Results = ReadonlyMap<string, ItemOf<"result">>;

/**
 * Items in their order, but each result with the reply that called for it. Results come before the next reply, so only
 * the items from one to the next are held.
 */
export function* withResults(items: Iterable<LoggedItem>): Generator<{ item: LoggedItem; results: Results }, void> {
  let since: LoggedItem[] = [];
  for (const item of items) {
    if (item.kind === "assistant") {
      yield* matched(since);
      since = [];
    }
    since.push(item);
  }
  yield* matched(since);
}

function* matched(items: readonly LoggedItem[]): Generator<{ item: LoggedItem; results: Results }, void> {
  const [reply] = items;
  const calls = new Set(
    reply?.kind === "assistant" ? reply.parts.map((part) => (part.type === "call" ? part.id : "")) : [],
  );
  const results = new Map<string, ItemOf<"result">>();
  const rest: LoggedItem[] = [];
  for (const item of items) {
    if (item.kind === "result" && calls.has(item.call) && !results.has(item.call)) results.set(item.call, item);
    else rest.push(item);
  }
  for (const item of rest) yield { item, results };
}
