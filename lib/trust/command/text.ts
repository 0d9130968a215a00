/**
 * One text that a word may become when its command runs: `head`, and then what `rest` says.
 *
 * - `none`: the head is all of it.
 * - `tame`: something follows that is neither an option nor a path of its own, such as a name that a pattern matched, a
 *   number or a hash. What follows stays where the head leads.
 * - `wild`: anything may follow.
 */
export type Text = { readonly head: string; readonly rest: Rest };
type Rest = "none" | "tame" | "wild";

export const exact = (head: string): Text => ({ head, rest: "none" });
export const tame = (head: string): Text => ({ head, rest: "tame" });
export const wild: Text = { head: "", rest: "wild" };

/** Longer than any argument can be. */
const mostCharacters = 200_000;

export function append(text: Text, next: Text): Text {
  if (text.head.length + next.head.length > mostCharacters) return { head: text.head, rest: "wild" };
  if (text.rest === "none") return { head: text.head + next.head, rest: next.rest };
  return next.rest === "wild" ? { head: text.head, rest: "wild" } : text;
}

/** Could it be an option, or several, that is not known? */
export function mayBeOption({ head, rest }: Text): boolean {
  return rest === "wild" ? head === "" || head.startsWith("-") : rest === "tame" && head.startsWith("-");
}

/** Beyond this many a word stands for too much to follow each. */
const mostTexts = 64;

/** Every text of the one followed by every text of the other. */
export function combine(texts: readonly Text[], next: readonly Text[]): readonly Text[] {
  if (texts.length * next.length > mostTexts) return [wild];
  return texts.flatMap((text) => next.map((one) => append(text, one)));
}

/** The arguments as one text, as `eval` and `ssh` make it. */
export function joined(texts: readonly Text[]): Text {
  return texts.reduce((line, text, index) => append(line, index === 0 ? text : append(exact(" "), text)), exact(""));
}

/** An unquoted text after expansion: words split at blanks, and file names where it has a pattern. */
export function unquoted(text: Text): readonly Text[] {
  if (text.rest !== "none") return [cutAtPattern(text)];
  return text.head
    .split(/[ \t\n]+/)
    .filter((field) => field !== "")
    .map((field) => cutAtPattern(exact(field)));
}

/** A file name pattern leads to names that begin with what stands before its first wildcard. */
export function cutAtPattern(text: Text): Text {
  const at = text.head.search(/[*?[]/);
  return at === -1 ? text : tame(text.head.slice(0, at));
}
