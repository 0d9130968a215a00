import { unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { HeldDirectory } from "../files/held.ts";
import { Unremovable, removeTree } from "../files/remove.ts";
import { resolveEntry, whyHidden, whyUnwritable, type ResolvedPath } from "../trust/path.ts";
import about from "./delete.md" with { type: "text" };
import { deniedOutside, systemFailure } from "./refusal.ts";
import { failed, inputOf, succeeded, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import { claimDelete, refuseDelete } from "./access.ts";

type Input = { path: string; recursive?: boolean };
type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const input = inputOf({ path: { type: "string" }, recursive: { type: "boolean" } }, ["path"]);

export const deleteTool = { name: "Delete", about, input, claim: claimDelete, run } satisfies Tool<Input>;

async function run({ path, recursive = false }: Input, context: Context): Promise<ToolResult> {
  const place = resolveEntry(path, context.policy);
  const refusal = refuseDelete(place, context.policy);
  if (refusal !== undefined) return refusal;
  if (place.kind === "directory" && !recursive)
    return failed(`"${place.shown}" is a directory: set recursive to delete it with everything in it.`);
  try {
    using parent = HeldDirectory.open(dirname(place.real));
    const entries = await remove(parent, place, context);
    context.files.forget(place.real);
    return succeeded(`Deleted "${place.shown}"${entries === undefined ? "" : ` (${entries} entries)`}.`);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof Unremovable) return deniedOutside(error.message);
    return systemFailure(`Cannot delete "${place.shown}"`, error);
  }
}

async function remove(parent: HeldDirectory, { real, kind }: ResolvedPath, { policy, signal }: Context) {
  const name = basename(real);
  if (kind === "directory") {
    const keep = (path: string) => whyHidden(path, policy) ?? whyUnwritable(path, policy);
    return removeTree(parent, name, { keep, signal });
  }
  unlinkSync(parent.at(name));
  return undefined;
}
