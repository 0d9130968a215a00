import { basename, dirname } from "node:path";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { locate } from "../../trust/path.ts";
import { missingText } from "../missing.ts";
import { deniedOutside, notAFile } from "../refusal.ts";
import { failed, type ToolResult } from "../tool.ts";
import type { Claim } from "../../trust/claim.ts";
import type { Scope } from "./scope.ts";

export type Start = { scope: Scope; /** For the model: the directory or file that is searched. */ shown: string };

/** Searching reads; a place that is hidden from the run is refused by the gate already. */
export function claimSearch(given: string, policy: Policy): Claim {
  const { hidden } = locate(given, policy);
  return { effect: "read", writes: [], ...(hidden !== undefined && { outside: hidden }) };
}

/** Where a search begins, or why there is nothing to be searched. */
export async function startSearch(
  given: string,
  { policy, files }: { policy: Policy; files: boolean },
): Promise<Start | ToolResult> {
  const { real, shown, kind, fault, hidden } = locate(given, policy);
  const what = `Cannot search "${shown}"`;
  if (fault !== undefined) return failed(`${what}: ${fault}`);
  if (hidden !== undefined) return deniedOutside(hidden);
  if (kind === "missing") return failed(missingText({ real, shown, kind }, policy));
  if (kind !== "directory" && kind !== "file") return failed(`${what}: ${notAFile(kind)}`);
  if (kind === "file" && !files) return failed(`${what}: expected a directory, but it is a file. Use Read.`);

  // The rules of .gitignore are only loaded by a run that searches.
  const { isKernelTree, scopeOf } = await import("./scope.ts");
  if (isKernelTree(real)) return failed(`${what}: the kernel provides its content. Use Read for one of its files.`);
  if (kind === "directory") return { scope: scopeOf(real, policy), shown };
  return { scope: { ...scopeOf(dirname(real), policy), file: basename(real) }, shown };
}
