import { counted } from "../counted.ts";
import { claimRead } from "./access.ts";
import about from "./list.md" with { type: "text" };
import { outOfTime, scaled, unreadableNote, withinTime } from "./search/limits.ts";
import type { Tree, TreeBranch } from "./search/listing.ts";
import { startSearch } from "./search/start.ts";
import type { WalkEntry } from "./search/walk.ts";
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { path?: string; depth?: number };
type Context = Pick<ToolContext, "policy" | "contextWindow" | "signal">;

const input = inputOf({ path: { type: "string" }, depth: { type: "integer", minimum: 1 } });

export const listTool = { name: "List", about, input, claim: claimRead, again: ["read"], run } satisfies Tool<Input>;

const mostEntries = 200;
const defaultDepth = 2;

async function run({ path = ".", depth = defaultDepth }: Input, context: Context): Promise<ToolResult> {
  const { policy, contextWindow, signal } = context;
  const start = await startSearch(path, { policy, files: false });
  if ("ok" in start) return start;

  const { scope, shown } = start;
  const wanted = scaled(mostEntries, contextWindow);
  const { listTree } = await import("./search/listing.ts");
  const tree = await withinTime((limited) => listTree(scope, { depth, wanted, signal: limited }), { signal });
  if (tree === undefined) return failed(outOfTime);
  const lines = [...branchLines("", new Map(tree.branches.map((branch) => [branch.path, branch]))), ...notes(tree)];
  return succeeded(lines.length === 0 ? `Nothing in "${shown}" that is not ignored.` : lines.join("\n"));
}

function branchLines(path: string, branches: ReadonlyMap<string, TreeBranch>, indent = ""): string[] {
  const { entries, left } = branches.get(path) ?? { entries: [], left: 0 };
  const lines = entries.flatMap((entry) => [
    `${indent}${nameOf(entry)}${unopened(branches.get(entry.path))}`,
    ...branchLines(entry.path, branches, `${indent}  `),
  ]);
  return left > 0 && entries.length > 0 ? [...lines, `${indent}[${left} more]`] : lines;
}

function nameOf({ path, kind }: WalkEntry): string {
  const marks: Partial<Record<WalkEntry["kind"], string>> = { directory: "/", symlink: "@", file: "" };
  return `${path.slice(path.lastIndexOf("/") + 1)}${marks[kind] ?? "|"}`;
}

/** A directory for whose entries there was no room says at least how many there are. */
function unopened(branch: TreeBranch | undefined): string {
  return branch === undefined || branch.entries.length > 0 ? "" : ` [${counted(branch.left, "entry", "entries")}]`;
}

function notes({ branches, total, unreadable }: Tree): string[] {
  const shown = branches.reduce((sum, { entries }) => sum + entries.length, 0);
  const cut = `[${shown} of ${counted(total, "entry", "entries")}: list a smaller directory or depth for the others.]`;
  return [...(shown < total ? [cut] : []), ...unreadableNote(unreadable)];
}
