import { counted } from "../counted.ts";
import { changeFiles, ChangeRefused, type FileChange } from "../files/changefiles.ts";
import { shownPath } from "../trust/path.ts";
import { noEffect, type Claim } from "../trust/claim.ts";
import { claimDelete, claimWrite } from "./access.ts";
import about from "./applypatch.md" with { type: "text" };
import { parsePatch, type Section } from "./patch.ts";
import { planPatch, type PlannedChange } from "./patchplan.ts";
import { systemFailure } from "./refusal.ts";
import { bytesOf, changeReport, mostDiffLines } from "./textfile.ts";
import { failed, inputOf, resultText, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { patch: string };
type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const input = inputOf({ patch: { type: "string" } }, ["patch"]);

export const applyPatchTool = { name: "ApplyPatch", twin: "Edit", about, input, claim, run } satisfies Tool<Input>;

/** One claim for all files; a patch that cannot be read changes nothing. */
function claim({ patch }: Input, { policy }: Pick<Context, "policy">): Claim {
  const sections = parsePatch(patch);
  if ("fault" in sections) return noEffect;
  const claims = sections.flatMap((section) => claimsOf(section, policy));
  const worst = claims.find(({ effect }) => effect === "destructive") ?? claims[0] ?? noEffect;
  const outside = claims.find((one) => one.outside !== undefined)?.outside;
  const writes = claims.flatMap((one) => (one.writes === "unknown" ? [] : one.writes));
  return { ...worst, writes, ...(outside !== undefined && { outside }) };
}

function claimsOf(section: Section, policy: Context["policy"]): Claim[] {
  switch (section.kind) {
    case "add":
      return [claimWrite(section, { policy })];
    case "delete":
      return [claimDelete(section, { policy })];
    case "update": {
      const { moveTo } = section;
      const moved = moveTo === undefined ? [] : [claimWrite({ path: moveTo }, { policy })];
      return [claimWrite(section, { policy }), ...moved];
    }
    default:
      return section satisfies never;
  }
}

async function run({ patch }: Input, context: Context): Promise<ToolResult> {
  const sections = parsePatch(patch);
  if ("fault" in sections) return failed(`${sections.fault} Nothing was changed.`);
  const planned = await planPatch(sections, context);
  if ("parts" in planned) return planned;
  context.signal.throwIfAborted();
  try {
    changeFiles(planned.flatMap(fileChangesOf));
  } catch (error) {
    return failureOf(error, context);
  }
  for (const change of planned) remember(change, context);
  return succeeded(await reportOn(planned));
}

function fileChangesOf(change: PlannedChange): FileChange[] {
  switch (change.kind) {
    case "add":
      return [{ kind: "create", path: change.place.real, content: bytesOf(change.after) }];
    case "delete":
      return [{ kind: "remove", path: change.place.real, old: change.stats }];
    case "update": {
      const { place, stats: old, before, after, to } = change;
      const path = place.real;
      if (to === undefined) return [{ kind: "replace", path, content: bytesOf(after), old, before: bytesOf(before) }];
      const created: FileChange = { kind: "create", path: to.real, content: bytesOf(after), like: old };
      return [created, { kind: "remove", path, old }];
    }
    default:
      return change satisfies never;
  }
}

/** Names the file, and what became of the others. */
function failureOf(error: unknown, { policy }: Context): ToolResult {
  if (!(error instanceof ChangeRefused)) throw error;
  const named = (path: string) => `"${shownPath(path, policy)}"`;
  const why = resultText(systemFailure(`Cannot change ${named(error.path)}`, error.cause));
  if (error.lost.length === 0) return failed(`${why}\nNothing was changed.`);
  return failed(`${why}\nCould not undo the change of ${error.lost.map(named).join(", ")}: look there again.`);
}

function remember(change: PlannedChange, { files }: Context): void {
  const { place } = change;
  switch (change.kind) {
    case "add":
      files.created(place.real);
      return files.saw(place.real, bytesOf(change.after));
    case "delete":
      return files.forget(place.real);
    case "update":
      if (change.to !== undefined) files.forget(place.real);
      return files.sawPart((change.to ?? place).real, bytesOf(change.after));
    default:
      change satisfies never;
  }
}

/** A line for each file, and as much of the diffs as is short. */
async function reportOn(changes: readonly PlannedChange[]): Promise<string> {
  const reports: string[] = [];
  let room = mostDiffLines;
  for (const change of changes.slice(0, mostReports)) {
    const text = await reportOf(change, room);
    room = Math.max(0, room - text.split("\n").length + 1);
    reports.push(text);
  }
  const others = changes.length - reports.length;
  if (others > 0) reports.push(`[${counted(others, "more file")}]`);
  return reports.join("\n");
}

const mostReports = 100;

async function reportOf(change: PlannedChange, room: number): Promise<string> {
  const { shown } = change.place;
  switch (change.kind) {
    case "add":
      return `Created "${shown}" (${counted(change.after.split("\n").length - 1, "line")}).`;
    case "delete":
      return `Deleted "${shown}".`;
    case "update": {
      const { to, before, after, hunks } = change;
      const moved = to && `Moved "${shown}" to "${to.shown}"`;
      if (before === after) return `${moved}.`;
      return await changeReport(`${moved ?? `Edited "${shown}"`}: ${counted(hunks, "hunk")}`, change, room);
    }
    default:
      return change satisfies never;
  }
}
