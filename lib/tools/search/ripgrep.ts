import { join } from "node:path";
import { folded, isBelow } from "../../files/path.ts";
import {
  byPath,
  type FileLines,
  type FileMatches,
  type GrepResult,
  type GrepLine,
  lineLimit,
  type GrepQuery,
} from "./found.ts";
import { globFilter } from "./glob.ts";
import { type RipgrepProgram, ripgrepProgram } from "./program.ts";
import { holdBase, type SearchScope } from "./scope.ts";

/**
 * Searches with ripgrep, in two runs: the first counts the matches in every file, so totals are exact and hardly any
 * text is moved; the second prints the lines of the few files that are wanted. Undefined when ripgrep cannot do it: it
 * is not there or must not be started, it would not find the same ignore rules, or it does not take the pattern. Our
 * own engine answers then, if only with the fault.
 */
export async function searchWithRipgrep(query: GrepQuery, signal: AbortSignal): Promise<GrepResult | undefined> {
  if (!canExpress(query)) return undefined;
  using program = await ripgrepProgram();
  if (program === undefined) return undefined;
  const { scope, pattern } = query;
  using base = holdBase(scope);
  if (base === undefined) return undefined;
  const run = (flags: string[], paths: string[]) =>
    runProgram(program, [...commonFlags(query), ...flags, "-e", pattern, "--", ...paths], { cwd: base.cwd, signal });

  const counted = await run(["--count", ...scopeFlags(query)], ["./"]);
  if (counted === undefined) return undefined;
  const passes = query.glob === undefined ? () => true : globFilter(query.glob, scope);
  const files = countsIn(counted.output)
    .filter(({ path }) => passes(path) && !isClosed(path, scope))
    .sort(byPath);
  const paths = firstFiles(files, query.wanted).map(({ path }) => `./${path}`);
  if (paths.length === 0) return { files, shown: [], unreadable: counted.unreadable };

  const printed = await run(lineFlags(query), paths);
  if (printed === undefined) return undefined;
  return { files, shown: firstMatches(linesIn(printed.output).sort(byPath), query), unreadable: counted.unreadable };
}

/** ripgrep has these too, but it does not know all the ways in which a file system writes the same name. */
function isClosed(path: string, { base, closed }: SearchScope): boolean {
  const absolute = folded(join(base, path));
  return closed.some((directory) => isBelow(absolute, folded(directory)));
}

/**
 * Above `base` ripgrep looks for ignore rules as far as the repository goes, which is right, and where there is none as
 * far as the root of the file system, which is not.
 */
function canExpress({ scope, pattern }: GrepQuery): boolean {
  return (scope.top === scope.base || scope.inRepository) && !looksBeyondLines.test(pattern.replace(/\[[^\]]*\]/g, ""));
}

/** A line feed, which ripgrep would take in silence and never find, or the begin and end of what it has in memory. */
const looksBeyondLines = /\n|^(?:[^\\]|\\[^nAzZ])*\\[nAzZ]/;

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

function scopeFlags({ scope, glob }: GrepQuery): string[] {
  return [
    "--hidden",
    "--no-ignore-dot",
    "--no-ignore-global",
    "--no-ignore-messages",
    // It would make ripgrep blind for the borders of repositories.
    ...(scope.inRepository ? [] : ["--no-require-git"]),
    ...(scope.top === scope.base ? ["--no-ignore-parent"] : []),
    "--glob=!.git",
    ...scope.closed.map(
      (path) => `--iglob=!/${escapeGlob(path.slice(scope.base === "/" ? 1 : scope.base.length + 1))}`,
    ),
    ...(scope.file === undefined ? typeFlags(glob) : ["--max-depth=1", `--glob=/${escapeGlob(scope.file)}`]),
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

type Ran = { output: string; unreadable: number };
type Running = { cwd: string; signal: AbortSignal };

async function runProgram(
  { path }: RipgrepProgram,
  args: string[],
  { cwd, signal }: Running,
): Promise<Ran | undefined> {
  const child = start(path, args, { cwd, signal });
  if (child === undefined) return undefined;
  const [output, complaints] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  signal.throwIfAborted();
  const { exitCode } = child;
  if (exitCode === 0 || exitCode === 1) return { output, unreadable: 0 };
  // It ends with 2 as well when all it had to complain about was a file that it could not read.
  const lines = complaints.split("\n").filter((line) => line !== "");
  const isAboutFiles = lines.every((line) => line.startsWith("rg: ./") && !line.includes(": PCRE2:"));
  return exitCode === 2 && isAboutFiles ? { output, unreadable: lines.length } : undefined;
}

function start(path: string, args: string[], { cwd, signal }: Running) {
  signal.throwIfAborted();
  try {
    return Bun.spawn([path, ...args], {
      cwd,
      env: {},
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      signal,
      killSignal: "SIGKILL",
    });
  } catch {
    // A system that does not let it start, or a directory that is gone: our own engine copes with both.
    return undefined;
  }
}

/** `./path`, NUL, a number, and the line's end as `--crlf` has it. */
function countsIn(output: string): FileMatches[] {
  return [...output.matchAll(/\.\/([^\0]+)\0(\d+)\r?\n/g)].map(([, path = "", count]) => ({
    path,
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

/** `./path`, NUL, then `number:column:text` for a match or `number-text` for a line around one. */
function linesIn(output: string): FileLines[] {
  const files = new Map<string, GrepLine[]>();
  for (const [, path = "", number, column, text = ""] of output.matchAll(
    /\.\/([^\0]+)\0(\d+)(?:-|:(?:(\d+):)?)([^\n]*)\n?/g,
  )) {
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
