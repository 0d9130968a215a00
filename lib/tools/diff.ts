/** How a change looks to a reader: the hunks of a unified diff without its header, and how many lines it is about. */
type Diff = { hunks: readonly string[]; added: number; removed: number };

const contextLines = 3;

/**
 * How many lines may go and come before the search is given up: it takes their square, here about a quarter of a
 * second. A limit in time would give the model another text on a busy machine, and so a replay another request.
 */
const mostEdits = 1_500;

/** The diff for reading, where the ends of lines do not matter. Undefined as in `exactDiffOf`. */
export async function diffOf(before: string, after: string): Promise<Diff | undefined> {
  const diff = await exactDiffOf(before, after);
  return diff && { ...diff, hunks: diff.hunks.map((line) => line.replace(/\r$/, "")) };
}

/**
 * The diff for patching, each line as it is. Undefined when the texts differ in so many lines that finding the
 * shortest diff would take too long.
 */
export async function exactDiffOf(before: string, after: string): Promise<Diff | undefined> {
  // Loaded here, and only here: most runs never edit a file.
  const { structuredPatch } = await import("diff");
  const { start, beforeEnd, afterEnd } = changedPart(before, after);
  const [old, now] = [before.slice(start, beforeEnd), after.slice(start, afterEnd)];
  const patch = structuredPatch("", "", old, now, undefined, undefined, {
    context: contextLines,
    maxEditLength: mostEdits,
  });
  if (patch === undefined) return undefined;

  const skipped = before.slice(0, start).split("\n").length - 1;
  const hunks = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${place(oldStart + skipped, oldLines)} +${place(newStart + skipped, newLines)} @@`,
    ...lines,
  ]);
  const changed = patch.hunks.flatMap(({ lines }) => lines);
  return {
    hunks,
    added: changed.filter((line) => line.startsWith("+")).length,
    removed: changed.filter((line) => line.startsWith("-")).length,
  };
}

/** Names the line before when no line is left. */
function place(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/** The part from the first to the last difference with its context, in whole lines: a large file has little of it. */
function changedPart(before: string, after: string) {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same++;
  let sameAtEnd = 0;
  const most = shorter - same;
  while (
    sameAtEnd < most &&
    before.charCodeAt(before.length - 1 - sameAtEnd) === after.charCodeAt(after.length - 1 - sameAtEnd)
  )
    sameAtEnd++;

  const end = forward(before, before.length - sameAtEnd);
  return { start: back(before, same), beforeEnd: end, afterEnd: end + after.length - before.length };
}

/** From a place to the start of its context. */
function back(text: string, index: number): number {
  let at = lineStart(text, index);
  for (let line = 0; line < contextLines && at > 0; line++) at = lineStart(text, at - 1);
  return at;
}

function lineStart(text: string, index: number): number {
  return index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

/** From a place to the end of its context. */
function forward(text: string, index: number): number {
  let at = index;
  for (let line = 0; line <= contextLines; line++) at = text.indexOf("\n", at) + 1 || text.length;
  return at;
}
