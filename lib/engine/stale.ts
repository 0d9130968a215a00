import { tokensOf } from "../session/contextsize.ts";
import type { ItemOf, LoggedItem } from "../session/item.ts";

/** After this time without a request a provider has dropped the conversation from its cache: changes cost nothing. */
const idleMs = 5 * 60_000;
const newestKept = 5;
const shortTokens = 50;

/**
 * The results that a resumed conversation need not send again, since the model can make their calls again: all but the
 * newest and the short ones.
 */
export function staleResults(items: readonly LoggedItem[], nowMs: number): ItemOf<"trim">["results"] {
  const last = items.at(-1);
  if (last === undefined || nowMs - last.at < idleMs) return [];
  const repeatable = items.filter((item) => item.kind === "result" && item.again === true);
  const old = repeatable.slice(0, Math.max(0, repeatable.length - newestKept));
  return old.filter((item) => tokensOf(item) > shortTokens).map(({ seq }) => ({ seq, length: 0 }));
}
