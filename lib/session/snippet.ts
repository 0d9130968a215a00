import { cutBefore } from "./graphemes.ts";
import { termOf } from "./terms.ts";

const snippetLength = 200;
const mostWords = 30;

export function wordsOf(query: string): string[] {
  // NUL would end the text of a MATCH; more words than this are a pasted text rather than a query.
  return query
    .split(/[\s\0]+/)
    .filter((word) => word !== "")
    .slice(0, mostWords);
}

/** Patterns for the place of a match, in any case: the query, then its words and then their parts, longest first. */
export function patternsOf(query: string): RegExp[] {
  const words = wordsOf(query);
  const terms = words.map(termOf).filter((term) => term !== undefined);
  const parts = terms.flatMap(({ sequence, parts }) => [...sequence, ...parts]);
  const longestFirst = (texts: readonly string[]) => texts.toSorted((a, b) => b.length - a.length);
  const sought = new Set([query.trim(), ...longestFirst(words), ...longestFirst(parts)]);
  sought.delete("");
  return [...sought].map((text) => new RegExp(RegExp.escape(text), "iu"));
}

/** About 200 characters, on one line, around the first match of a pattern. */
export function snippetOf(text: string, patterns: readonly RegExp[]): string {
  const found = patterns.map((pattern) => text.search(pattern)).find((place) => place >= 0) ?? 0;
  const from = cutBefore(text, Math.floor(found - snippetLength / 3));
  const to = cutBefore(text, from + snippetLength);
  const cut = text.slice(from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${cut}${to < text.length ? "…" : ""}`;
}
