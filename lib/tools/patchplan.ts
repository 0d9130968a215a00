import { basename, dirname } from "node:path";
import { counted } from "../counted.ts";
import { HeldDirectory } from "../files/held.ts";
import { resolveEntry, resolvePath, type ResolvedPath } from "../trust/path.ts";
import { refuseDelete, refuseNew } from "./access.ts";
import { applyHunks, oldLines } from "./hunks.ts";
import { explainMistakes } from "./mistakes.ts";
import type { Hunk, Section } from "./patch.ts";
import { systemFailure } from "./refusal.ts";
import { byteText, decodedText, readForEdit, type TextFile } from "./textfile.ts";
import { failed, resultText, type ToolContext, type ToolResult } from "./tool.ts";

type Context = Pick<ToolContext, "policy" | "files" | "signal">;

/** A change of one file that can be made; texts have one character for each byte. */
export type PlannedChange =
  | { kind: "add"; place: ResolvedPath; after: string }
  | { kind: "delete"; place: ResolvedPath; stats: TextFile["stats"] }
  | ({ kind: "update"; after: string; hunks: number; to?: ResolvedPath } & TextFile);

/** Looks at every file of a patch and makes the changes in memory; a result says all that speaks against them. */
export async function planPatch(
  sections: readonly Section[],
  context: Context,
): Promise<readonly PlannedChange[] | ToolResult> {
  const planned: PlannedChange[] = [];
  const refused: ToolResult[] = [];
  for (const section of sections) {
    const plan = await planSection(section, context);
    if ("parts" in plan) refused.push(plan);
    else planned.push(plan);
  }
  const twice = refused.length === 0 ? pathGivenTwice(planned) : undefined;
  if (twice !== undefined) refused.push(failed(`"${twice}" is named twice: give all its changes in one section.`));
  return refused.length === 0 ? planned : refusalOf(refused);
}

const mostRefusals = 5;

function refusalOf(refused: readonly ToolResult[]): ToolResult {
  const denied = refused.find((result) => result.denied !== undefined);
  if (denied !== undefined) return denied;
  const texts = refused.slice(0, mostRefusals).map(resultText);
  const others = refused.length - texts.length;
  if (others > 0) texts.push(`${counted(others, "more file")} cannot be changed either.`);
  return failed([...texts, "Nothing was changed."].join("\n"));
}

function pathGivenTwice(planned: readonly PlannedChange[]): string | undefined {
  const seen = new Set<string>();
  const places = planned.flatMap((change) =>
    change.kind === "update" && change.to !== undefined ? [change.place, change.to] : [change.place],
  );
  return places.find(({ real }) => seen.size === seen.add(real).size)?.shown;
}

async function planSection(section: Section, context: Context): Promise<PlannedChange | ToolResult> {
  switch (section.kind) {
    case "add":
      return planAddition(section, context);
    case "delete":
      return planDeletion(section, context);
    case "update":
      return await planUpdate(section, context);
    default:
      return section satisfies never;
  }
}

type SectionOf<Kind> = Extract<Section, { kind: Kind }>;

function planAddition({ path, lines }: SectionOf<"add">, { policy }: Context): PlannedChange | ToolResult {
  const place = resolvePath(path, policy);
  const after = byteText(lines.map((line) => `${line}\n`).join(""));
  return refuseNew(path, place) ?? { kind: "add", place, after };
}

function planDeletion({ path }: SectionOf<"delete">, { policy }: Context): PlannedChange | ToolResult {
  const place = resolveEntry(path, policy);
  const what = `Cannot delete "${place.shown}"`;
  if (place.kind === "directory") return failed(`${what}: it is a directory, and a patch deletes only files.`);
  const refusal = refuseDelete(place, policy);
  if (refusal !== undefined) return refusal;
  try {
    using parent = HeldDirectory.open(dirname(place.real));
    const stats = parent.look(basename(place.real));
    return stats === undefined ? failed(`${what}: it is not there any more.`) : { kind: "delete", place, stats };
  } catch (error) {
    return systemFailure(what, error);
  }
}

async function planUpdate(section: SectionOf<"update">, context: Context): Promise<PlannedChange | ToolResult> {
  const { path, moveTo, hunks } = section;
  const file = await readForEdit(path, context);
  if ("parts" in file) return file;
  const { shown } = file.place;
  const to = moveTo === undefined ? undefined : resolvePath(moveTo, context.policy);
  const refusal = moveTo === undefined || to === undefined ? undefined : refuseMove(path, { moveTo, to }, context);
  if (refusal !== undefined) return refusal;

  const edited = applyHunks(file.before, hunks.map(bytewiseHunk));
  if (!("text" in edited)) {
    const pieces = hunks.map((hunk, at) => pieceOf(hunk, at, shown));
    return failed(explainMistakes(edited, { text: decodedText(file.before), pieces, advice }));
  }
  if (edited.text === file.before && to === undefined) return failed(`The patch would leave "${shown}" as it is.`);
  return { kind: "update", ...file, after: edited.text, hunks: hunks.length, ...(to && { to }) };
}

const advice = "give more lines of context, or the class or function after @@";

function refuseMove(
  path: string,
  { moveTo, to }: { moveTo: string; to: ResolvedPath },
  { policy }: Context,
): ToolResult | undefined {
  const entry = resolveEntry(path, policy);
  if (entry.kind === "symlink") return failed(`Cannot move "${entry.shown}": it is a symbolic link.`);
  return refuseNew(moveTo, to);
}

function bytewiseHunk(hunk: Hunk): Hunk {
  const lines = hunk.lines.map(({ mark, text }) => ({ mark, text: byteText(text) }));
  return { ...hunk, headers: hunk.headers.map(byteText), lines };
}

function pieceOf(hunk: Hunk, at: number, shown: string) {
  const name = `Hunk ${at + 1} of "${shown}"`;
  return { name, sought: `${name} (line ${hunk.line} of the patch)`, wanted: oldLines(hunk).join("\n") };
}
