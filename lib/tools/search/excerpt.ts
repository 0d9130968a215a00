import { type GrepLine, lineLimit } from "./found.ts";

/** Characters that are shown of a longer line, and how many of them may come before its match. */
const shownLength = 300;
const lead = 100;

/** A line as the model sees it: of a long one the part around the match. */
export function excerpt({ text, column = 0 }: GrepLine): string {
  if (text.length <= shownLength) return text;
  const isBeyond = column >= lineLimit;
  const from = isBeyond || column + lead < shownLength ? 0 : column - lead;
  const part = text.slice(from, from + shownLength).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  const note = isBeyond ? ` [the match is beyond character ${lineLimit}]` : "";
  return `${from > 0 ? "…" : ""}${part}${from + shownLength < text.length ? "…" : ""}${note}`;
}
