import { KodaError } from "../errors.ts";
import { claimRead } from "./access.ts";
import about from "./grep.md" with { type: "text" };
import type { GrepFault, GrepQuery, GrepResult } from "./search/found.ts";
import type { Searching } from "./search/launch.ts";
import { outOfTime, scaled, unreadableNote, withinTime } from "./search/limits.ts";
import { fileReport, lineReport } from "./search/report.ts";
import { startSearch } from "./search/start.ts";
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = {
  pattern: string;
  path?: string;
  glob?: string;
  context?: number;
  ignore_case?: boolean;
  files_only?: boolean;
};
type Context = Pick<ToolContext, "policy" | "shell" | "contextWindow" | "signal">;

const input = inputOf(
  {
    pattern: { type: "string" },
    path: { type: "string" },
    glob: { type: "string" },
    context: { type: "integer", minimum: 0, maximum: 10 },
    ignore_case: { type: "boolean" },
    files_only: { type: "boolean" },
  },
  ["pattern"],
);

export const grepTool = { name: "Grep", about, input, claim: claimRead, again: ["read"], run } satisfies Tool<Input>;

/** Matches with their lines, or files when only files are asked for. */
const mostMatches = 100;

async function run(input: Input, { policy, shell, contextWindow, signal }: Context): Promise<ToolResult> {
  const start = await startSearch(input.path ?? ".", { policy, files: true });
  if ("ok" in start) return start;

  const { scope, shown } = start;
  const most = scaled(mostMatches, contextWindow);
  const query = {
    scope,
    pattern: input.pattern,
    ignoreCase: input.ignore_case ?? false,
    ...(input.glob !== undefined && { glob: input.glob }),
    context: input.context ?? 0,
    wanted: input.files_only === true ? 0 : most,
  };
  const found = await withinTime((limited) => search(query, { shell, policy, signal: limited }), { signal });
  if (found === undefined) return failed(outOfTime);
  if ("fault" in found) return failed(faultText(input.pattern, found));

  const room = { most, named: (path: string) => scope.prefix + path };
  const report = input.files_only === true ? fileReport(found, room) : lineReport(found, room);
  const lines = found.files.length === 0 ? [noneText(input, shown)] : report;
  return succeeded([...lines, ...unreadableNote(found.unreadable)].join("\n"));
}

function noneText({ pattern, glob }: Input, shown: string): string {
  return `No matches for "${pattern}" in "${shown}"${glob === undefined ? "" : `, files "${glob}"`}.`;
}

/** Loaded late: a run that searches for nothing has no use for it. */
async function search(query: GrepQuery, searching: Searching): Promise<GrepResult | GrepFault> {
  const { searchWithRipgrep } = await import("./search/ripgrep.ts");
  const { unlessBlocked } = await import("./search/blocked.ts");
  const once = async (signal: AbortSignal) => await searchWithRipgrep(query, { ...searching, signal });
  try {
    return await unlessBlocked(query.scope, once, searching.signal);
  } catch (error) {
    // The shell says why it starts nothing.
    if (!(error instanceof KodaError) || searching.signal.aborted) throw error;
    return { fault: error.message };
  }
}

function faultText(given: string, { fault, pattern }: GrepFault): string {
  if (pattern === undefined) return `Cannot search: ${fault}`;
  const escaped = given.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const { at } = pattern;
  const where = at === undefined ? [] : [`  ${given}`, `  ${" ".repeat(at)}^`];
  const place = at === undefined ? "" : ` at character ${at + 1}`;
  return [`Bad pattern: ${fault}${place}`, ...where, `To find this very text: ${escaped}`].join("\n");
}
