import type { ChangedFile } from "./changes.ts";

/** The changes that one reviewer gets: some files, or some of the lines of a large one. */
export type Part = { files: readonly ChangedFile[]; lines?: LineRange };

/** The lines of a patch that begin in this range of its bytes. */
type LineRange = { from: number; to: number };

/** One request names no more files. */
const mostFiles = 200;

/** Divides the files, in their order, so that each part has about this many bytes of patches. */
export function planParts(files: readonly ChangedFile[], budget: number): readonly Part[] {
  const parts: Part[] = [];
  let gathered: ChangedFile[] = [];
  let bytes = 0;
  const close = () => {
    if (gathered.length > 0) parts.push({ files: gathered });
    [gathered, bytes] = [[], 0];
  };
  for (const file of files) {
    if (bytes + file.bytes > budget || gathered.length === mostFiles) close();
    if (file.bytes > budget) parts.push(...piecesOf(file, budget));
    else {
      gathered.push(file);
      bytes += file.bytes;
    }
  }
  close();
  return parts;
}

function piecesOf(file: ChangedFile, budget: number): Part[] {
  return Array.from({ length: Math.ceil(file.bytes / budget) }, (_, index) => {
    const from = index * budget;
    return { files: [file], lines: { from, to: from + budget } };
  });
}

/** A line as long as this is data, or was written by a program. */
const longestLine = 1000;

/** The patch of a part as a reviewer sees it: of a piece each hunk begins with the numbers of its own lines. */
export function showPatch(patch: string, { lines: range }: Part): string {
  const shown = range === undefined ? patch.split("\n") : linesIn(patch, range);
  return shown.map(shortLine).join("\n");
}

function shortLine(line: string): string {
  if (line.length <= longestLine) return line;
  return `${line.slice(0, longestLine)}… [${line.length - longestLine} more characters]`;
}

const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

function linesIn(patch: string, { from, to }: LineRange): string[] {
  const shown: string[] = [];
  let [at, before, after] = [0, 0, 0];
  let isInHunk = false;
  for (const line of patch.split("\n")) {
    const numbers = hunk.exec(line);
    const isWanted = at >= from && at < to;
    if (numbers !== null) [before, after, isInHunk] = [Number(numbers[1]), Number(numbers[2]), true];
    // The names stand before the first hunk.
    if (isWanted && isInHunk && numbers === null && !shown.some((each) => each.startsWith("@@")))
      shown.push(`@@ -${before} +${after} @@`);
    if (isWanted || !isInHunk) shown.push(line);
    if (isInHunk && numbers === null) {
      if (!line.startsWith("+")) before++;
      if (!line.startsWith("-")) after++;
    }
    at += Buffer.byteLength(line) + 1;
  }
  return shown;
}
