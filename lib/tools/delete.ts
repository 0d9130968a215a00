import { unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { HeldDirectory } from "../files/held.ts";
import { Unremovable, removeTree } from "../files/remove.ts";
import type { Claim } from "../trust/claim.ts";
import { resolveEntry, whyHidden, whyUndeletable, whyUnwritable, type ResolvedPath } from "../trust/path.ts";
import about from "./delete.md" with { type: "text" };
import { missingText } from "./missing.ts";
import { deniedDestructive, deniedOutside, notAFile, systemFailure } from "./refusal.ts";
import { failed, inputOf, succeeded, type ClaimContext, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import { claimChange } from "./access.ts";

type Input = { path: string; recursive?: boolean };
type Context = Pick<ToolContext, "policy" | "files" | "signal">;

const input = inputOf({ path: { type: "string" }, recursive: { type: "boolean" } }, ["path"]);

export const deleteTool = { name: "Delete", about, input, claim, run } satisfies Tool<Input>;

/** Deleting inside the project is a write like any other: a snapshot brings it back. */
function claim({ path }: Input, { policy }: Pick<ClaimContext, "policy">): Claim {
  const place = resolveEntry(path, policy);
  const reason = whyUndeletable(place.real, policy);
  return reason === undefined ? claimChange(place) : { ...claimChange(place), effect: "destructive", reason };
}

async function run({ path, recursive = false }: Input, context: Context): Promise<ToolResult> {
  const place = resolveEntry(path, context.policy);
  const refusal = refuseDelete(place, recursive, context);
  if (refusal !== undefined) return refusal;
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

function refuseDelete(place: ResolvedPath, recursive: boolean, { policy }: Context): ToolResult | undefined {
  const { kind, shown, real, fault, outside } = place;
  if (fault !== undefined) return failed(`Cannot delete "${shown}": ${fault}`);
  const never = whyUndeletable(real, policy);
  if (never !== undefined) return deniedDestructive(never);
  if (outside !== undefined) return deniedOutside(outside);
  if (kind === "missing") return failed(missingText(place, policy));
  if (kind === "directory" && !recursive)
    return failed(`"${shown}" is a directory: set recursive to delete it with everything in it.`);
  if (kind === "file" || kind === "symlink" || kind === "directory") return undefined;
  return failed(`Cannot delete "${shown}": ${notAFile(kind)}`);
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
