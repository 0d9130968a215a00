export type Edit = { old: string; new: string; all?: boolean };

/** A mistake in an edit or in a hunk of a patch; both count from 0. */
export type Mistake =
  | { kind: "empty" | "same" | "absent"; edit: number }
  | { kind: "ambiguous"; edit: number; count: number; lines: readonly number[] }
  | { kind: "overlap"; edit: number; other: number; line: number }
  /** A hunk that only adds lines, and does not say where. */
  | { kind: "unplaced"; edit: number }
  /** The header of a hunk stands nowhere before its lines. */
  | { kind: "header"; edit: number; header: string }
  /** The lines of a hunk, marked as the end of the file, stand elsewhere. */
  | { kind: "not at the end"; edit: number; lines: readonly number[] };

type Edited = { text: string; count: number };

/**
 * Makes all edits or none: each is looked for in the original, so none sees what another one did. Line ends in an edit
 * are `\n` and match the file's `\r\n` too; what is put in gets the line ends of its place.
 */
export function replaceIn(original: string, edits: readonly Edit[]): Edited | readonly Mistake[] {
  return replaceFound(original, (view) => edits.map((edit, index) => find(view, edit, index)));
}

/** The same for replacements that are found in another way. */
export function replaceFound(
  original: string,
  find: (view: View) => readonly (readonly Match[] | Mistake)[],
): Edited | readonly Mistake[] {
  const view = viewOf(original);
  const found = find(view);
  const mistakes = found.filter((result) => "kind" in result);
  if (mistakes.length > 0) return mistakes;

  const matches = found.flatMap((result) => ("kind" in result ? [] : result));
  matches.sort((a, b) => a.start - b.start || a.end - b.end);
  const overlap = matches.findIndex((match, index) => doOverlap(matches[index - 1], match));
  const [first, second] = matches.slice(overlap - 1, overlap + 1);
  if (overlap !== -1 && first !== undefined && second !== undefined)
    return [{ kind: "overlap", edit: first.edit, other: second.edit, line: lineAt(view.text, second.start) }];
  return { text: assemble(original, view, matches), count: matches.length };
}

/** Two insertions at one place overlap too: their order would be a guess. */
function doOverlap(before: Match | undefined, { start, end }: Match): boolean {
  return before !== undefined && (start < before.end || end === before.start);
}

/** How often a text occurs that should occur once is of no interest beyond this. */
export const mostCounted = 1000;

/** A place in the view of a text, and what comes there instead. */
export type Match = { edit: number; start: number; end: number; replacement: string };

function find(view: View, { old, new: replacement, all = false }: Edit, edit: number): Match[] | Mistake {
  const wanted = view.toLf(old);
  if (wanted === "") return { kind: "empty", edit };
  if (wanted === view.toLf(replacement)) return { kind: "same", edit };
  // A text that overlaps itself is no less ambiguous.
  const starts = all ? positions(view.text, wanted, wanted.length) : positions(view.text, wanted, 1, mostCounted);
  if (starts.length === 0) return { kind: "absent", edit };
  if (!all && starts.length > 1) {
    const lines = starts.slice(0, 5).map((start) => lineAt(view.text, start));
    return { kind: "ambiguous", edit, count: starts.length, lines };
  }
  return starts.map((start) => ({ edit, start, end: start + wanted.length, replacement }));
}

/** The places where a text occurs, going on by so many characters from each. */
function positions(text: string, wanted: string, step: number, most = Infinity): number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1 && starts.length < most; at = text.indexOf(wanted, at + step))
    starts.push(at);
  return starts;
}

function assemble(original: string, view: View, matches: readonly Match[]): string {
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, replacement } of matches) {
    pieces.push(original.slice(done, view.origin(start)), view.withLineEnds(replacement, start));
    done = view.origin(end);
  }
  return [...pieces, original.slice(done)].join("");
}

/** A text with `\n` for line ends, and the way back to the original. */
export type View = {
  text: string;
  toLf(text: string): string;
  /** The place in the original of a place in the view. */
  origin(index: number): number;
  /** The text with the line ends that the original has around a place. */
  withLineEnds(text: string, index: number): string;
};

function viewOf(original: string): View {
  const toLf = (text: string) => text.replaceAll("\r\n", "\n");
  // A file without a CRLF is taken as it is, so that one can be put in on purpose.
  if (!original.includes("\r\n"))
    return { text: original, toLf: (text) => text, origin: (index) => index, withLineEnds: (text) => text };

  const text = toLf(original);
  const crlfs = positions(original, "\r\n", 2).map((at, before) => at - before);
  return {
    text,
    toLf,
    origin: (index) => index + countBelow(crlfs, index),
    withLineEnds(replacement, index) {
      const next = text.indexOf("\n", index);
      const nearest = next === -1 ? text.lastIndexOf("\n", index) : next;
      const isCrlf = crlfs[countBelow(crlfs, nearest)] === nearest;
      return isCrlf ? toLf(replacement).replaceAll("\n", "\r\n") : toLf(replacement);
    },
  };
}

/** How many of the sorted numbers are below a limit. */
function countBelow(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? Infinity) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}
