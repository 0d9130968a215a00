import { counted } from "../counted.ts";
import { openFile, type OpenFile } from "../files/held.ts";
import { shortened } from "../session/graphemes.ts";
import { resolvePath, type ResolvedPath } from "../trust/path.ts";
import { refuseWrite } from "./access.ts";
import { maxWholeBytes, readWhole } from "./bytes.ts";
import { diffOf } from "./diff.ts";
import { sniff } from "./magic.ts";
import { missingText } from "./missing.ts";
import { systemFailure } from "./refusal.ts";
import { failed, type ToolContext, type ToolResult } from "./tool.ts";

type Context = Pick<ToolContext, "policy" | "files" | "signal">;

/** A text file that may be edited: the model has seen it as it is now. `before` has one character for each byte. */
export type TextFile = { place: ResolvedPath; stats: OpenFile["stats"]; before: string };

/** Reads a file that is to be edited; a result says why it may not be. */
export async function readForEdit(path: string, context: Context): Promise<TextFile | ToolResult> {
  const place = resolvePath(path, context.policy);
  const refusal = refuseWrite(place);
  if (refusal !== undefined) return refusal;
  if (place.kind === "missing") return failed(`${missingText(place, context.policy)} To make a new file use Write.`);
  if (!context.files.hasSeen(place.real)) return failed(`You have not read "${place.shown}": Read it first.`);
  try {
    using file = openFile(place.real);
    return await textOf(place, file, context);
  } catch (error) {
    context.signal.throwIfAborted();
    return systemFailure(`Cannot edit "${place.shown}"`, error);
  }
}

async function textOf(place: ResolvedPath, file: OpenFile, { files, signal }: Context): Promise<TextFile | ToolResult> {
  const { real, shown } = place;
  const bytes = await readWhole(file, maxWholeBytes);
  signal.throwIfAborted();
  if (bytes === undefined) return failed(`"${shown}" is larger than 16 MiB: change it with Bash (sed, for example).`);
  if (files.hasChanged(real, bytes)) return failed(`"${shown}" changed on disk since you last saw it: Read it again.`);
  if (sniff(bytes).type !== "text") return failed(`Cannot edit "${shown}": it is not text.`);
  return { place, stats: file.stats, before: byteText(bytes) };
}

/**
 * Text with one character for each byte. Matching bytes finds the same as matching characters, and a file that is not
 * all valid UTF-8 keeps its other bytes as they are.
 */
export function byteText(content: string | Uint8Array): string {
  const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
  return bytes.toString("latin1");
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

export function decodedText(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}

/** A sentence about a change, and its diff as far as it is short. */
export async function changeReport(
  done: string,
  { before, after }: { before: string; after: string },
  mostLines = mostDiffLines,
): Promise<string> {
  const diff = await diffOf(decodedText(before), decodedText(after));
  if (diff === undefined) return `${done}. The diff is too large to be shown.`;
  const lines = diff.hunks.slice(0, mostLines).map((line) => shortened(line, mostCharacters));
  const left = diff.hunks.length - lines.length;
  if (left > 0 && mostLines > 0) lines.push(`[${counted(left, "more line")} of the diff]`);
  return [`${done} (+${diff.added} -${diff.removed}).`, ...lines].join("\n");
}

export const mostDiffLines = 60;
const mostCharacters = 400;
