import { counted } from "../../counted.ts";
import { type FileLines, type FileMatches, type GrepLine, type GrepResult, lineLimit } from "./found.ts";

/** `most` is the room there is; `named` is a path as the model knows it. */
type ReportLimits = { most: number; named: (path: string) => string };

/** Lines of context have their price too: with many of them there are fewer matches. */
const linesPerMatch = 3;
/** How many files without room for their lines are named all the same. */
const mostOthers = 20;

/** Each file, then its lines as grep has them: `12:` a match, `13-` a line around it, `--` a gap. */
export function lineReport({ files, shown }: GrepResult, { most, named }: ReportLimits): string[] {
  const reported = withinRoom(shown, most * linesPerMatch);
  const blocks = reported.flatMap(({ path, lines }) => [named(path), ...linesWithGaps(lines)]);
  const note = othersNote(files, {
    shown: new Map(reported.map(({ path, lines }) => [path, matchesIn(lines)])),
    named,
  });
  return [...blocks, ...note];
}

export function fileReport({ files }: GrepResult, { most, named }: ReportLimits): string[] {
  const shown = files.slice(0, most).map(({ path }) => named(path));
  if (shown.length === files.length) return shown;
  return [...shown, `[${shown.length} of ${counted(files.length, "file")}: ${advice}]`];
}

const advice = "narrow the search by path, glob or pattern.";

function withinRoom(files: readonly FileLines[], room: number): FileLines[] {
  let left = room;
  return files
    .map(({ path, lines }) => {
      const kept = lines.slice(0, left);
      left -= kept.length;
      return { path, lines: kept };
    })
    .filter(({ lines }) => matchesIn(lines) > 0);
}

function matchesIn(lines: readonly GrepLine[]): number {
  return lines.filter(({ column }) => column !== undefined).length;
}

function linesWithGaps(lines: readonly GrepLine[]): string[] {
  return lines.flatMap((line, index) => {
    const text = `${line.number}${line.column === undefined ? "-" : ":"}${excerpt(line)}`;
    const before = lines[index - 1];
    const hasContext = line.column === undefined || before?.column === undefined;
    return before !== undefined && hasContext && line.number > before.number + 1 ? ["--", text] : [text];
  });
}

/** Characters that are shown of a longer line, and how many of them may come before its match. */
const shownLength = 300;
const lead = 100;

/** A line as the model sees it: of a long one the part around the match. */
function excerpt({ text, column = 0 }: GrepLine): string {
  if (text.length <= shownLength) return text;
  const isBeyond = column >= lineLimit;
  const from = isBeyond || column + lead < shownLength ? 0 : column - lead;
  const part = text.slice(from, from + shownLength).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  const note = isBeyond ? ` [the match is beyond character ${lineLimit}]` : "";
  return `${from > 0 ? "…" : ""}${part}${from + shownLength < text.length ? "…" : ""}${note}`;
}

type Shown = { shown: ReadonlyMap<string, number>; named: (path: string) => string };

function othersNote(files: readonly FileMatches[], { shown, named }: Shown): string[] {
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0);
  const total = sum(files.map(({ count }) => count));
  const matches = sum(shown.values());
  if (matches === total) return [];

  const others = files
    .map(({ path, count }) => ({ path, left: count - (shown.get(path) ?? 0) }))
    .filter(({ left }) => left > 0);
  const some = others.slice(0, mostOthers).map(({ path, left }) => `${named(path)} (${left})`);
  const unnamed = others.length - some.length;
  const where = unnamed > 0 ? [...some, `${counted(unnamed, "more file")}`] : some;
  return [`[${matches} of ${counted(total, "match", "matches")}; the others: ${where.join(", ")}; ${advice}]`];
}
