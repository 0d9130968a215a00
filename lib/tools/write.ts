import { basename, dirname } from "node:path";
import { counted } from "../counted.ts";
import { HeldDirectory, Replaced } from "../files/held.ts";
import { createFile, replaceFile, type HeldEntry } from "../files/save.ts";
import { kindOf } from "../files/walk.ts";
import { resolvePath } from "../trust/path.ts";
import { systemFailure } from "./refusal.ts";
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import { claimWrite, refuseDirectoryName, refuseWrite } from "./access.ts";
import about from "./write.md" with { type: "text" };

type Input = { path: string; content: string };

const input = inputOf({ path: { type: "string" }, content: { type: "string" } }, ["path", "content"]);

export const writeTool = { name: "Write", about, input, claim: claimWrite, run } satisfies Tool<Input>;

async function run({ path, content }: Input, context: Pick<ToolContext, "policy" | "files">): Promise<ToolResult> {
  const { policy, files } = context;
  const place = resolvePath(path, policy);
  const { real, shown } = place;
  const refusal = refuseWrite(place) ?? refuseDirectoryName(path);
  if (refusal !== undefined) return refusal;
  const isNew = place.kind === "missing";
  if (!isNew && !files.hasSeen(real))
    return failed(`"${shown}" exists and you have not read it: Read it first, so that nothing is lost unseen.`);

  const bytes = new TextEncoder().encode(content);
  try {
    using directory = HeldDirectory.open(dirname(real), { create: isNew });
    const target = { directory, name: basename(real) };
    if (isNew) createFile(target, bytes);
    else overwrite(target, bytes);
  } catch (error) {
    return systemFailure(`Cannot write "${shown}"`, error);
  }
  if (isNew) files.created(real);
  files.saw(real, bytes);
  return succeeded(
    `${isNew ? "Created" : "Overwrote"} "${shown}" (${linesOf(content)}, ${counted(bytes.length, "byte")}).`,
  );
}

function overwrite(target: HeldEntry, bytes: Uint8Array): void {
  const old = target.directory.look(target.name);
  if (old === undefined || kindOf(old) !== "file") throw new Replaced(target.name);
  replaceFile(target, bytes, old);
}

function linesOf(content: string): string {
  const newlines = content.split("\n").length - 1;
  const lines = content === "" || content.endsWith("\n") ? newlines : newlines + 1;
  return counted(lines, "line");
}
