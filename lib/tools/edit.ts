import { basename, dirname } from "node:path";
import { counted } from "../counted.ts";
import { HeldDirectory, openFile, type OpenFile } from "../files/held.ts";
import { replaceFile } from "../files/save.ts";
import { shortened } from "../session/graphemes.ts";
import { resolvePath, type ResolvedPath } from "../trust/path.ts";
import { maxWholeBytes, readWhole } from "./bytes.ts";
import { diffOf } from "./diff.ts";
import about from "./edit.md" with { type: "text" };
import { sniff } from "./magic.ts";
import { explainMistakes } from "./mistakes.ts";
import { missingText } from "./missing.ts";
import { systemFailure } from "./refusal.ts";
import { replaceIn, type Edit } from "./replace.ts";
import { failed, inputOf, succeeded, type Tool, resultText, type ToolContext, type ToolResult } from "./tool.ts";
import { claimWrite, refuseWrite } from "./access.ts";

type Input = { path: string; edits: Edit[] };
type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const input = inputOf(
  {
    path: { type: "string" },
    edits: {
      type: "array",
      minItems: 1,
      items: inputOf({ old: { type: "string" }, new: { type: "string" }, all: { type: "boolean" } }, ["old", "new"]),
    },
  },
  ["path", "edits"],
);

export const editTool = { name: "Edit", about, input, claim: claimWrite, preview, run } satisfies Tool<Input>;

async function preview(input: Input, context: Context): Promise<string> {
  const planned = await plan(input, context);
  return "parts" in planned ? resultText(planned) : report(planned, "Edit");
}

async function run(input: Input, context: Context): Promise<ToolResult> {
  const planned = await plan(input, context);
  if ("parts" in planned) return planned;
  const { real, shown } = planned.place;
  const after = Buffer.from(planned.after, "latin1");
  try {
    using directory = HeldDirectory.open(dirname(real));
    replaceFile({ directory, name: basename(real) }, after, planned.stats);
  } catch (error) {
    return systemFailure(`Cannot edit "${shown}"`, error);
  }
  context.files.sawPart(real, after);
  return succeeded(await report(planned, "Edited"));
}

/** The change that the edits make, byte by byte. */
type Change = { place: ResolvedPath; stats: OpenFile["stats"]; before: string; after: string; count: number };

/** Reads the file and makes the edits in memory; a result says why they cannot be made. */
async function plan({ path, edits }: Input, context: Context): Promise<Change | ToolResult> {
  const place = resolvePath(path, context.policy);
  const refusal = refuseWrite(place);
  if (refusal !== undefined) return refusal;
  if (place.kind === "missing") return failed(`${missingText(place, context.policy)} To make a new file use Write.`);
  if (!context.files.hasSeen(place.real)) return failed(`You have not read "${place.shown}": Read it first.`);
  try {
    using file = openFile(place.real);
    return await changeOf({ place, file, edits }, context);
  } catch (error) {
    context.signal.throwIfAborted();
    return systemFailure(`Cannot edit "${place.shown}"`, error);
  }
}

type Work = { place: ResolvedPath; file: OpenFile; edits: readonly Edit[] };

async function changeOf({ place, file, edits }: Work, { files, signal }: Context): Promise<Change | ToolResult> {
  const { real, shown } = place;
  const bytes = await readWhole(file, maxWholeBytes);
  signal.throwIfAborted();
  if (bytes === undefined) return failed(`"${shown}" is larger than 16 MiB: change it with Bash (sed, for example).`);
  if (files.hasChanged(real, bytes)) return failed(`"${shown}" changed on disk since you last saw it: Read it again.`);
  if (sniff(bytes).type !== "text") return failed(`Cannot edit "${shown}": it is not text.`);

  const before = bytewise(bytes);
  const edited = replaceIn(before, edits.map(bytewiseEdit));
  if (!("text" in edited)) return failed(explainMistakes(edited, { shown, text: readable(before), edits }));
  if (edited.text === before) return failed(`The edits undo each other: "${shown}" would stay as it is.`);
  return { place, stats: file.stats, before, after: edited.text, count: edited.count };
}

/**
 * Text with one character for each byte. Matching bytes finds the same as matching characters, and a file that is not
 * all valid UTF-8 keeps its other bytes as they are.
 */
function bytewise(content: string | Uint8Array): string {
  const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
  return bytes.toString("latin1");
}

function bytewiseEdit({ old, new: replacement, all = false }: Edit): Edit {
  return { old: bytewise(old), new: bytewise(replacement), all };
}

function readable(bytewise: string): string {
  return Buffer.from(bytewise, "latin1").toString("utf8");
}

async function report({ place, before, after, count }: Change, verb: "Edit" | "Edited"): Promise<string> {
  const made = `${verb} "${place.shown}": ${counted(count, "replacement")}`;
  const diff = await diffOf(readable(before), readable(after));
  if (diff === undefined) return `${made}. The diff is too large to be shown.`;
  const lines = diff.hunks.slice(0, mostDiffLines).map((line) => shortened(line, mostCharacters));
  const left = diff.hunks.length - lines.length;
  if (left > 0) lines.push(`[${left} more lines of the diff]`);
  return [`${made} (+${diff.added} -${diff.removed}).`, ...lines].join("\n");
}

const mostDiffLines = 60;
const mostCharacters = 400;
