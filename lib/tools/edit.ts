import { basename, dirname } from "node:path";
import { counted } from "../counted.ts";
import { HeldDirectory } from "../files/held.ts";
import { replaceFile } from "../files/save.ts";
import { claimWrite } from "./access.ts";
import about from "./edit.md" with { type: "text" };
import { explainMistakes } from "./mistakes.ts";
import { systemFailure } from "./refusal.ts";
import { replaceIn, type Edit } from "./replace.ts";
import { bytesOf, byteText, changeReport, decodedText, readForEdit, type TextFile } from "./textfile.ts";
import { failed, inputOf, succeeded, type Tool, resultText, type ToolContext, type ToolResult } from "./tool.ts";

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

export const editTool = {
  name: "Edit",
  twin: "ApplyPatch",
  about,
  input,
  claim: claimWrite,
  preview,
  run,
} satisfies Tool<Input>;

async function preview(input: Input, context: Context): Promise<string> {
  const planned = await plan(input, context);
  return "parts" in planned ? resultText(planned) : report(planned, "Edit");
}

async function run(input: Input, context: Context): Promise<ToolResult> {
  const planned = await plan(input, context);
  if ("parts" in planned) return planned;
  const { real, shown } = planned.place;
  const after = bytesOf(planned.after);
  try {
    using directory = HeldDirectory.open(dirname(real));
    replaceFile({ directory, name: basename(real) }, after, planned.stats);
  } catch (error) {
    return systemFailure(`Cannot edit "${shown}"`, error);
  }
  context.files.sawPart(real, after);
  return succeeded(await report(planned, "Edited"));
}

type Change = TextFile & { after: string; count: number };

/** Reads the file and makes the edits in memory; a result says why they cannot be made. */
async function plan({ path, edits }: Input, context: Context): Promise<Change | ToolResult> {
  const file = await readForEdit(path, context);
  if ("parts" in file) return file;
  const { before, place } = file;
  const edited = replaceIn(before, edits.map(bytewiseEdit));
  if (!("text" in edited)) {
    const pieces = edits.map(({ old }, at) => ({ name: `edits[${at}]`, sought: `edits[${at}].old`, wanted: old }));
    const explained = explainMistakes(edited, { text: decodedText(before), pieces, advice });
    return failed(`${explained}\n"${place.shown}" was not changed.`);
  }
  if (edited.text === before) return failed(`The edits undo each other: "${place.shown}" would stay as it is.`);
  return { ...file, after: edited.text, count: edited.count };
}

const advice = "include more of the surrounding text, or set all";

function bytewiseEdit({ old, new: replacement, all = false }: Edit): Edit {
  return { old: byteText(old), new: byteText(replacement), all };
}

function report(change: Change, verb: "Edit" | "Edited"): Promise<string> {
  return changeReport(`${verb} "${change.place.shown}": ${counted(change.count, "replacement")}`, change);
}
