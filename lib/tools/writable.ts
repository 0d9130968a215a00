import type { Place } from "../trust/path.ts";
import { deniedOutside, notAFile } from "./refusal.ts";
import { failed, type ToolResult } from "./tool.ts";
import type { Claim } from "../trust/claim.ts";

export function claimWrite({ real, outside }: Place): Claim {
  return { effect: "write", writes: [real], ...(outside !== undefined && { outside }) };
}

/**
 * Why a file may not be written there, if so. The gate has judged the claim, but a call of the same reply may have put
 * a symlink on the way since then, so the policy is asked again.
 */
export function refuseWrite({ kind, shown, fault, outside }: Place): ToolResult | undefined {
  const what = `Cannot write "${shown}"`;
  if (fault !== undefined) return failed(`${what}: ${fault}`);
  if (outside !== undefined) return deniedOutside(outside);
  if (kind === "file" || kind === "missing") return undefined;
  return failed(kind === "directory" ? `${what}: it is a directory.` : `${what}: ${notAFile(kind)}`);
}
