import { cutBefore } from "./graphemes.ts";

const snippetLength = 200;
const mostWords = 30;

export function wordsOf(query: string): string[] {
  // NUL would end the text of a MATCH, and more words than this are no query but a text.
  return query
    .split(/[\s\0]+/)
    .filter((word) => word !== "")
    .slice(0, mostWords);
}

/** What to look for in a text that matches: the query as it stands, else its words in turn. Case does not count. */
export function patternsOf(query: string): RegExp[] {
  const sought = [query.trim(), ...wordsOf(query)].filter((text) => text !== "");
  return sought.map((text) => new RegExp(RegExp.escape(text), "iu"));
}

/** About 200 characters, on one line, around the first place that one of the patterns finds. */
export function snippetOf(text: string, patterns: readonly RegExp[]): string {
  const found = patterns.map((pattern) => text.search(pattern)).find((place) => place >= 0) ?? 0;
  const from = cutBefore(text, Math.floor(found - snippetLength / 3));
  const to = cutBefore(text, from + snippetLength);
  const cut = text.slice(from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${cut}${to < text.length ? "…" : ""}`;
}
