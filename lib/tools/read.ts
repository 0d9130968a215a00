import { counted } from "../counted.ts";
import { HeldDirectory, openFile, type OpenFile } from "../files/held.ts";
import { resolvePath, type ResolvedPath } from "../trust/path.ts";
import { claimRead } from "./access.ts";
import { maxWholeBytes, readChunk, readWhole } from "./bytes.ts";
import { sniff } from "./magic.ts";
import { missingText } from "./missing.ts";
import about from "./read.md" with { type: "text" };
import { deniedOutside, notAFile, systemFailure } from "./refusal.ts";
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import { LineWindow, type Shown, type WindowLimits } from "./window.ts";

type Input = { path: string; start_line?: number; num_lines?: number };
type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const input = inputOf(
  {
    path: { type: "string" },
    start_line: { type: "integer", minimum: 1 },
    num_lines: { type: "integer", minimum: 1 },
  },
  ["path"],
);

export const readTool = { name: "Read", about, input, claim: claimRead, again: ["read"], run } satisfies Tool<Input>;

const limits = { lines: 2000, bytes: 50 * 1024, lineBytes: 2000 };
const maxImageBytes = 5 * 1024 * 1024;
const maxEntries = 500;

async function run(input: Input, context: Context): Promise<ToolResult> {
  const place = resolvePath(input.path, context.policy);
  const what = `Cannot read "${place.shown}"`;
  if (place.fault !== undefined) return failed(`${what}: ${place.fault}`);
  if (place.hidden !== undefined) return deniedOutside(place.hidden);
  try {
    if (place.kind === "file") return await readFile(place, input, context);
    if (place.kind === "directory") return listDirectory(place, input);
    if (place.kind === "missing") return failed(missingText(place, context.policy));
    return failed(`${what}: ${notAFile(place.kind)}`);
  } catch (error) {
    context.signal.throwIfAborted();
    return systemFailure(what, error);
  }
}

async function readFile(place: ResolvedPath, input: Input, context: Context): Promise<ToolResult> {
  using file = openFile(place.real);
  const size = Number(file.stats.size);
  const first = await readChunk(file, 0);
  const content = sniff(first);
  if (content.type === "image") return await showImage(place, file, content.mime, context);
  if (content.type === "binary")
    return failed(`Cannot read "${place.shown}": it is ${content.name}, ${sizeText(size)}.`);

  const lines = Math.min(limits.lines, input.num_lines ?? Infinity);
  const scanned = await scan(file, first, { ...limits, start: input.start_line ?? 1, lines }, context.signal);
  return showText(place, { input, ...scanned, size }, context);
}

type Scanned = {
  shown: Shown;
  /** The file's content, when all of it was read and it is small enough to be kept. */
  whole?: Uint8Array;
  isEnd: boolean;
};

/**
 * Reads to the end, for the number of lines and the version of the file; when it is too large to be kept, only as far
 * as the wanted lines reach.
 */
async function scan(file: OpenFile, first: Uint8Array, wanted: WindowLimits, signal: AbortSignal): Promise<Scanned> {
  const window = new LineWindow(wanted);
  let kept: Uint8Array[] | undefined = file.stats.size > maxWholeBytes ? undefined : [];
  let position = 0;
  for (let chunk = first; chunk.length > 0;) {
    signal.throwIfAborted();
    window.feed(chunk);
    position += chunk.length;
    if (position > maxWholeBytes) kept = undefined;
    if (kept === undefined && window.isFull) return { shown: window.end(), isEnd: false };
    kept?.push(chunk);
    // A chunk that is not kept may be overwritten by the next one.
    chunk = await readChunk(file, position, kept === undefined ? chunk : undefined);
  }
  const shown = window.end();
  return kept === undefined ? { shown, isEnd: true } : { shown, isEnd: true, whole: Buffer.concat(kept) };
}

async function showImage(place: ResolvedPath, file: OpenFile, mime: string, { files }: Context): Promise<ToolResult> {
  const bytes = await readWhole(file, maxImageBytes);
  const what = `${place.shown} (${mime}, ${sizeText(Number(file.stats.size))})`;
  if (bytes === undefined) return failed(`${what}: at most 5 MB can be shown. Make a smaller copy first.`);
  files.sawPart(place.real);
  const image = { type: "image" as const, mime, base64: Buffer.from(bytes).toString("base64") };
  return { ok: true, parts: [{ type: "text", text: what }, image] };
}

type Text = Scanned & { input: Input; size: number };

function showText(place: ResolvedPath, text: Text, { files }: Context): ToolResult {
  const { input, shown, whole, isEnd } = text;
  const start = input.start_line ?? 1;
  if (isEnd && shown.counted > 0 && shown.counted < start)
    return failed(`"${place.shown}" has ${counted(shown.counted, "line")}: there is no line ${start}.`);

  const isWhole = isEnd && shown.lines.length === shown.counted && shown.lines.every(({ cutBytes }) => cutBytes === 0);
  const isPlain = input.start_line === undefined && input.num_lines === undefined;
  if (whole === undefined) files.sawPart(place.real);
  else {
    if (isPlain && files.isCurrent(place.real, whole))
      return succeeded(`"${place.shown}" is unchanged since you read or wrote it; you have its content above.`);
    if (isWhole) files.saw(place.real, whole);
    else files.sawPart(place.real, whole);
  }
  if (isEnd && shown.counted === 0) return succeeded(`"${place.shown}" is empty.`);
  const lines = shown.lines.map(({ number, text, cutBytes }) => `${number}\t${text}${cutMark(cutBytes)}`);
  return succeeded([...lines, ...notes(text)].join("\n"));
}

function cutMark(cutBytes: number): string {
  return cutBytes === 0 ? "" : `… [${cutBytes} more bytes in this line]`;
}

function notes({ shown, isEnd, size }: Text): string[] {
  const next = (shown.lines.at(-1)?.number ?? 0) + 1;
  const isLastShown = isEnd && next > shown.counted;
  return [
    !isEnd && `[More follows, the file has ${sizeText(size)}: continue with start_line ${next}.]`,
    isEnd && !isLastShown && `[Lines ${next} to ${shown.counted} follow: continue with start_line ${next}.]`,
    isLastShown && !shown.endsInNewline && "[No newline at the end of the file.]",
    shown.hasCrlf && "[Lines end in CRLF.]",
    shown.isInvalidUtf8 && "[Not all of it is valid UTF-8: \uFFFD stands for the bytes that are not.]",
  ].filter((note) => note !== false);
}

function listDirectory({ real, shown }: ResolvedPath, { start_line = 1, num_lines = maxEntries }: Input): ToolResult {
  using directory = HeldDirectory.open(real);
  const names = directory.names();
  if (names.length === 0) return succeeded(`"${shown}" is an empty directory.`);
  if (start_line > names.length) return failed(`"${shown}" has ${counted(names.length, "entry", "entries")}.`);
  const end = start_line - 1 + Math.min(num_lines, maxEntries);
  const lines = names.slice(start_line - 1, end).map((name) => name + suffix(directory, name));
  const left = names.length - end;
  if (left > 0)
    lines.push(`[${counted(left, "more entry", "more entries")}: continue with start_line ${end + 1}, or use Glob.]`);
  return succeeded(lines.join("\n"));
}

function suffix(directory: HeldDirectory, name: string): string {
  const stats = directory.look(name);
  if (stats?.isDirectory()) return "/";
  return stats?.isSymbolicLink() ? "@" : "";
}

function sizeText(bytes: number): string {
  if (bytes < 10_000) return counted(bytes, "byte");
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
