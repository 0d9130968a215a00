import { isAbsolute } from "node:path";
import { counted } from "../counted.ts";
import type { Claim } from "../trust/claim.ts";
import { claimRead } from "./access.ts";
import about from "./glob.md" with { type: "text" };
import { globMatcher, splitGlob, tooManyAlternatives } from "./search/glob.ts";
import { outOfTime, scaled, unreadableNote, withinTime } from "./search/limits.ts";
import { startSearch } from "./search/start.ts";
import { failed, inputOf, succeeded, type ClaimContext, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

type Input = { pattern: string; path?: string };
type Context = Pick<ToolContext, "policy" | "contextWindow" | "signal">;

const input = inputOf({ pattern: { type: "string" }, path: { type: "string" } }, ["pattern"]);

export const globTool = { name: "Glob", about, input, claim, again: ["read"], run } satisfies Tool<Input>;

function claim(input: Input, context: Pick<ClaimContext, "policy">): Claim {
  return claimRead({ path: splitPattern(input).directory }, context);
}

const mostFiles = 200;

/**
 * By path and not newest first: the same question then has the same answer, and the cached prefix of the requests
 * holds when a turn is repeated, whatever a build or a checkout did to the times.
 */
async function run(input: Input, { policy, contextWindow, signal }: Context): Promise<ToolResult> {
  const { directory, rest } = splitPattern(input);
  if (rest === "" || rest === "./") return failed(`"${input.pattern}" names no files. Use List for directories.`);
  const matches = globMatcher(rest);
  if (matches === undefined) return failed(tooManyAlternatives(input.pattern));
  const start = await startSearch(directory, { policy, files: false });
  if ("ok" in start) return start;

  const { scope, shown } = start;
  const wanted = scaled(mostFiles, contextWindow);
  const { findFiles } = await import("./search/listing.ts");
  const files = await withinTime((limited) => findFiles(scope, { matches, wanted, signal: limited }), { signal });
  if (files === undefined) return failed(outOfTime);
  const { paths, total, looked, unreadable } = files;
  const none = `No files match "${input.pattern}" in "${shown}": looked at ${counted(looked, "file")}.`;
  const cut = `[${paths.length} of ${counted(total, "file")}: use a narrower pattern for the others.]`;
  return succeeded(
    [
      ...(total === 0 ? [none] : paths.map((path) => scope.prefix + path)),
      ...(paths.length < total ? [cut] : []),
      ...unreadableNote(unreadable),
    ].join("\n"),
  );
}

function splitPattern({ pattern, path = "." }: Input): { directory: string; rest: string } {
  const { directory, rest } = splitGlob(pattern);
  return { directory: isAbsolute(directory) || directory.startsWith("~") ? directory : `${path}/${directory}`, rest };
}
