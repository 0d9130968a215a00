import { constants } from "node:os";
import type { KeptStream } from "./capture.ts";

export type Output = { stdout: KeptStream; stderr: KeptStream };

/** Output up to this size is shown whole. */
const smallBytes = 3 * 1024;

const shownLines = { stderr: 50, stdout: 20 };

/** For the shown lines of one stream together; the longest are shortened first. */
const streamCharacters = 6_500;

/** Exit codes that shells use for a child that a signal ended, and programs hardly ever use for anything else. */
const tellingSignals = ["SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGPIPE"] as const;

/** The signal that ended a command: its own, or that of the child whose end its exit code passes on. */
export function signalBehind({ exitCode, signal }: { exitCode: number; signal?: string }): string | undefined {
  return signal ?? tellingSignals.find((name) => exitCode === 128 + constants.signals[name]);
}

/**
 * A command that is over, for the model: its end, in a line that has the same form for every command, then the notes,
 * then its output. `storeAll` is called when not all of the output is shown; it returns the id that it is stored under.
 */
export function summarize(
  status: { exitCode: number; signal?: string },
  output: Output,
  { notes, storeAll }: { notes: readonly string[]; storeAll: () => string },
): string {
  const signal = signalBehind(status);
  const exit = `Exit code: ${status.exitCode}${signal === undefined ? "" : ` (killed by ${signal})`}`;
  return [`${exit} | ${countsOf(output)}`, ...notes, ...showOutput(output, storeAll)].join("\n");
}

/** `stdout: L lines | stderr: M lines`, as many as there were, however many of them are shown. */
export function countsOf({ stdout, stderr }: Output): string {
  return `stdout: ${stdout.totalLines} lines | stderr: ${stderr.totalLines} lines`;
}

/** The output itself: whole when it is small, else the last lines of each stream and how to see the others. */
export function showOutput(output: Output, storeAll: () => string): string[] {
  const isSmall = output.stdout.totalBytes + output.stderr.totalBytes <= smallBytes;
  const stderr = section("stderr", output.stderr, isSmall);
  const stdout = section("stdout", output.stdout, isSmall);
  const isCut = stderr.isCut || stdout.isCut;
  const hint = isCut ? [`Cut. All of it: RecallContext {"output":"${storeAll()}"}`] : [];
  return [...stderr.text, ...stdout.text, ...hint];
}

function section(name: "stdout" | "stderr", stream: KeptStream, isSmall: boolean): { text: string[]; isCut: boolean } {
  if (stream.totalBytes === 0) return { text: [], isCut: false };
  const { lines, isWhole } = lastLines(stream, isSmall ? Infinity : shownLines[name]);
  const limit = lineLimit(lines);
  const isShortened = lines.some((line) => line.length > limit);
  const title = isWhole ? `${name}:` : `${name}, last ${lines.length} of ${stream.totalLines} lines:`;
  return { text: [title, ...lines.map((line) => shorten(line, limit))], isCut: !isWhole || isShortened };
}

type LastLines = { lines: string[]; isWhole: boolean };

function lastLines({ head, tail, totalBytes }: KeptStream, count: number): LastLines {
  const hasGap = head.length + tail.length < totalBytes;
  const kept = hasGap ? tail : Buffer.concat([head, tail]);
  const end = kept.at(-1) === newline ? kept.length - 1 : kept.length;
  const start = startOfLast(kept, end, count);
  const lines = new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept.subarray(start, end)).split("\n");
  const isBeheaded = hasGap && start === 0;
  return { lines: isBeheaded ? [`[…]${lines[0] ?? ""}`, ...lines.slice(1)] : lines, isWhole: start === 0 && !hasGap };
}

const newline = 10;

/** The start of the last lines before `end`, which is at the end of a line. */
function startOfLast(bytes: Uint8Array, end: number, count: number): number {
  let start = end;
  for (let lines = 0; lines < count; lines++) {
    const before = start === 0 ? -1 : bytes.lastIndexOf(newline, start - 1);
    if (before < 0) return 0;
    start = before;
  }
  return start + 1;
}

/** The length to which all lines have to be cut so that together they fit. */
function lineLimit(lines: readonly string[]): number {
  let limit = streamCharacters;
  const total = () => lines.reduce((sum, line) => sum + Math.min(line.length, limit), 0);
  while (total() > streamCharacters) limit = Math.floor(limit * 0.9);
  return limit;
}

/** A long line keeps its beginning and its end. */
function shorten(line: string, limit: number): string {
  if (line.length <= limit) return line;
  const half = Math.floor(limit / 2);
  const left = line.length - 2 * half;
  // A cut through a surrogate pair leaves halves that no UTF-8 can hold.
  const [start, end] = [line.slice(0, half).toWellFormed(), line.slice(-half).toWellFormed()];
  return `${start}[… ${left} characters …]${end}`;
}
