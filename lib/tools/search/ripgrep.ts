import { join } from "node:path";
import { folded, isBelow } from "../../files/path.ts";
import {
  byPath,
  type FileLines,
  type FileMatches,
  type GrepFault,
  type GrepLine,
  type GrepQuery,
  type GrepResult,
  lineLimit,
} from "./found.ts";
import { globFilter, tooManyAlternatives } from "./glob.ts";
import { type Launch, launchFor, type Searching } from "./launch.ts";
import type { SearchScope } from "./scope.ts";

/**
 * Searches with ripgrep, in two runs: the first counts the matches in every file, so totals are exact and hardly any
 * text is moved; the second prints the lines of the few files that are wanted.
 */
export async function searchWithRipgrep(query: GrepQuery, searching: Searching): Promise<GrepResult | GrepFault> {
  const { scope, pattern, glob } = query;
  if (looksBeyondLines.test(pattern.replace(/\[[^\]]*\]/g, ""))) return { fault: linesOnly, pattern: {} };
  const passes = glob === undefined ? () => true : globFilter(glob, scope);
  if (passes === undefined) return { fault: tooManyAlternatives(glob ?? "") };
  using held = new DisposableStack();
  const launch = await launchFor(scope, searching, held);
  if ("fault" in launch) return launch;
  const run = async (flags: string[], paths: string[]) =>
    launch.run([...commonFlags(query), ...flags, "-e", pattern, "--", ...paths]);

  const below = directoryPrefix(launch.named(scope.base));
  const counted = await run(["--count", ...scopeFlags(query, launch)], [`./${below}`]);
  if ("fault" in counted) return counted;
  const files = countsIn(counted.output, below)
    .filter(({ path }) => passes(path) && !isClosed(path, scope))
    .sort(byPath);
  const paths = launch.argumentsFor(firstFiles(files, query.wanted).map(({ path }) => path));
  if (paths.size === 0) return { files, shown: [], unreadable: counted.unreadable };

  const printed = await run(lineFlags(query), [...paths.keys()]);
  if ("fault" in printed) return printed;
  const lines = linesIn(printed.output, paths).sort(byPath);
  return { files, shown: firstMatches(lines, query), unreadable: counted.unreadable };
}

/** ripgrep has these too, but it does not know all the ways in which a file system writes the same name. */
function isClosed(path: string, { base, closed }: SearchScope): boolean {
  const absolute = folded(join(base, path));
  return closed.some((directory) => isBelow(absolute, folded(directory)));
}

/**
 * A line feed, which ripgrep would take in silence and never find, or the begin and end of what it has in memory; all
 * but in a class.
 */
const looksBeyondLines = /\n|^(?:[^\\]|\\[^nAzZ])*\\[nAzZ]/;
const linesOnly = "each line is searched alone: no match spans lines, and ^ and $ are the begin and the end of one";

function commonFlags({ ignoreCase }: GrepQuery): string[] {
  return [
    "--no-config",
    "--color=never",
    "--with-filename",
    "--null",
    "--crlf",
    // Look-around and back-references only where a pattern has them: the default engine takes linear time.
    "--engine=auto",
    ...(ignoreCase ? ["--ignore-case"] : []),
  ];
}

/**
 * Above the base ripgrep looks for ignore rules as far as the repository goes, which is right, and where there is none
 * as far as the root of the file system, which is not. What it does not find it is given (`rulesFromAbove`).
 */
function scopeFlags({ scope, glob }: GrepQuery, { named }: Launch): string[] {
  const only = (path: string) => escapeGlob(named(path));
  return [
    "--hidden",
    "--no-ignore-dot",
    "--no-ignore-global",
    "--no-ignore-messages",
    // It would make ripgrep blind for the borders of repositories.
    ...(scope.inRepository ? [] : ["--no-require-git"]),
    ...(scope.top === scope.base || scope.rulesOutside ? ["--no-ignore-parent"] : []),
    "--ignore-file=/dev/stdin",
    "--glob=!.git",
    ...scope.closed.map((path) => `--iglob=!/${only(path)}`),
    ...(scope.file === undefined
      ? typeFlags(glob)
      : ["--max-depth=1", `--glob=/${only(join(scope.base, scope.file))}`]),
  ];
}

/**
 * Spares ripgrep files whose name cannot match. As a type, since a glob of its own would bring back ignored files; only
 * where both readings of the glob agree, because all paths are matched against the whole glob afterwards.
 */
function typeFlags(glob: string | undefined): string[] {
  const name = glob?.slice(glob.lastIndexOf("/") + 1) ?? "";
  const isPlain = /^[\w.*-]+(?:\{[\w.,*-]+\})?$/.test(name) && !name.includes("**");
  return isPlain && glob?.startsWith("!") === false ? [`--type-add=wanted:${name}`, "--type=wanted"] : [];
}

function lineFlags({ context, wanted }: GrepQuery): string[] {
  return [
    "--no-heading",
    // A file that shrinks meanwhile would kill ripgrep if it had mapped it.
    "--no-mmap",
    "--line-number",
    "--column",
    "--no-context-separator",
    `--context=${context}`,
    // Lines after the last of these may be printed as matches though they are none; `firstMatches` stops before.
    `--max-count=${wanted + context + 1}`,
    // Counted in bytes, of which a character has at most four: what is added where a line is cut is never reached.
    `--max-columns=${lineLimit * 4}`,
    "--max-columns-preview",
  ];
}

function escapeGlob(path: string): string {
  return path.replace(/[\\*?[\]{}!# ]/g, "\\$&");
}

function directoryPrefix(directory: string): string {
  return directory === "" ? "" : `${directory}/`;
}

/** `./path`, NUL, a number, and the line's end as `--crlf` has it. */
function countsIn(output: string, below: string): FileMatches[] {
  return [...output.matchAll(/\.\/([^\0]+)\0(\d+)\r?\n/g)].map(([, path = "", count]) => ({
    path: path.slice(below.length),
    count: Number(count),
  }));
}

/** As many files as it takes to have the wanted number of matches. */
function firstFiles(files: readonly FileMatches[], wanted: number): FileMatches[] {
  if (wanted === 0) return [];
  let missing = wanted;
  const last = files.findIndex(({ count }) => (missing -= count) <= 0);
  return files.slice(0, last === -1 ? files.length : last + 1);
}

/** An argument, NUL, then `number:column:text` for a match or `number-text` for a line around one. */
function linesIn(output: string, paths: ReadonlyMap<string, string>): FileLines[] {
  const files = new Map<string, GrepLine[]>();
  for (const [, argument = "", number, column, text = ""] of output.matchAll(
    /(\.?\/[^\0]+)\0(\d+)(?:-|:(?:(\d+):)?)([^\n]*)\n?/g,
  )) {
    const path = paths.get(argument);
    if (path === undefined) continue;
    const lines = files.get(path) ?? [];
    files.set(path, lines);
    const line = { number: Number(number), text: text.replace(/\r$/, "").slice(0, lineLimit) };
    lines.push(column === undefined ? line : { ...line, column: unitsOf(text, Number(column) - 1) });
  }
  return [...files].map(([path, lines]) => ({ path, lines }));
}

/** Every file was printed up to the wanted number of matches; what comes after the last wanted one goes again. */
function firstMatches(files: readonly FileLines[], { wanted, context }: GrepQuery): FileLines[] {
  let missing = wanted;
  return files.map(({ path, lines }) => {
    const matches = lines.filter(({ column }) => column !== undefined).slice(0, missing);
    missing -= matches.length;
    const last = matches.at(-1)?.number ?? 0;
    const kept = lines.filter(({ number }) => number <= last + context);
    return { path, lines: kept.map((line) => (line.number > last ? { number: line.number, text: line.text } : line)) };
  });
}

/** How many characters so many bytes are, as far as it matters. */
function unitsOf(text: string, bytes: number): number {
  return Math.min(lineLimit, Buffer.from(text).subarray(0, bytes).toString().length);
}
