import { noEffect, type Claim } from "../trust/claim.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { resolveEntry, resolvePath, whyUndeletable, type ResolvedPath } from "../trust/path.ts";
import { missingText } from "./missing.ts";
import { deniedDestructive, deniedOutside, notAFile } from "./refusal.ts";
import { failed, type ClaimContext, type ToolResult } from "./tool.ts";

/** A place that is hidden from the run is refused by the gate. */
export function claimRead({ path = "." }: { path?: string }, { policy }: Pick<ClaimContext, "policy">): Claim {
  const { hidden } = resolvePath(path, policy);
  return hidden === undefined ? noEffect : { ...noEffect, outside: hidden };
}

export function claimWrite<Input extends { path: string }>(
  { path }: Input,
  { policy }: Pick<ClaimContext, "policy">,
): Claim {
  return claimChange(resolvePath(path, policy));
}

function claimChange({ real, outside }: ResolvedPath): Claim {
  return { effect: "write", writes: [real], ...(outside !== undefined && { outside }) };
}

/** Deleting inside the project is a write like any other: a snapshot brings it back. */
export function claimDelete<Input extends { path: string }>(
  { path }: Input,
  { policy }: Pick<ClaimContext, "policy">,
): Claim {
  const place = resolveEntry(path, policy);
  const reason = whyUndeletable(place.real, policy);
  return reason === undefined ? claimChange(place) : { ...claimChange(place), effect: "destructive", reason };
}

/**
 * Why a file may not be written there, if so. The gate has judged the claim, but a call of the same reply may have put
 * a symlink on the way since then, so the policy is asked again.
 */
export function refuseWrite({ kind, shown, fault, outside }: ResolvedPath): ToolResult | undefined {
  const what = `Cannot write "${shown}"`;
  if (fault !== undefined) return failed(`${what}: ${fault}`);
  if (outside !== undefined) return deniedOutside(outside);
  if (kind === "file" || kind === "missing") return undefined;
  return failed(kind === "directory" ? `${what}: it is a directory.` : `${what}: ${notAFile(kind)}`);
}

/** Why a file cannot be made there, if so, for a tool that never overwrites one. */
export function refuseNew(path: string, place: ResolvedPath): ToolResult | undefined {
  const refusal = refuseWrite(place) ?? refuseDirectoryName(path);
  if (refusal !== undefined || place.kind === "missing") return refusal;
  return failed(`"${place.shown}" exists already: change it with "*** Update File", or Delete it in a call before.`);
}

/** A path that ends like that of a directory names no file. */
export function refuseDirectoryName(path: string): ToolResult | undefined {
  if (!path.endsWith("/")) return undefined;
  return failed(`Cannot write "${path}": that names a directory, expected a file.`);
}

/** Why nothing may be deleted there, if so. */
export function refuseDelete(place: ResolvedPath, policy: Policy): ToolResult | undefined {
  const { kind, shown, real, fault, outside } = place;
  if (fault !== undefined) return failed(`Cannot delete "${shown}": ${fault}`);
  const never = whyUndeletable(real, policy);
  if (never !== undefined) return deniedDestructive(never);
  if (outside !== undefined) return deniedOutside(outside);
  if (kind === "missing") return failed(missingText(place, policy));
  if (kind === "file" || kind === "symlink" || kind === "directory") return undefined;
  return failed(`Cannot delete "${shown}": ${notAFile(kind)}`);
}
