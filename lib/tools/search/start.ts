import { basename, dirname } from "node:path";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { resolvePath } from "../../trust/path.ts";
import { missingText } from "../missing.ts";
import { deniedOutside, notAFile } from "../refusal.ts";
import { failed, type ToolResult } from "../tool.ts";
import type { SearchScope } from "./scope.ts";

type SearchStart = {
  scope: SearchScope;
  /** For the model: the directory or file that is searched. */ shown: string;
};

/** The scope of a search, or a result that says why there is nothing to search. */
export async function startSearch(
  given: string,
  { policy, files }: { policy: Policy; files: boolean },
): Promise<SearchStart | ToolResult> {
  const { real, shown, kind, fault, hidden } = resolvePath(given, policy);
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
