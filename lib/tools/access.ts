import { noEffect, type Claim } from "../trust/claim.ts";
import { resolvePath, type ResolvedPath } from "../trust/path.ts";
import { deniedOutside, notAFile } from "./refusal.ts";
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

export function claimChange({ real, outside }: ResolvedPath): Claim {
  return { effect: "write", writes: [real], ...(outside !== undefined && { outside }) };
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
