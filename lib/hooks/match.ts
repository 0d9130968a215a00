import type { HookConfig } from "../config/config.ts";
import { nearest } from "../nearest.ts";

/**
 * The other names of a tool for a match. The model decides if it edits with Edit or ApplyPatch, and a patch can also
 * create and delete files: a hook that guards one way has to see the other.
 */
const others: Readonly<Record<string, readonly string[]>> = {
  Edit: ["ApplyPatch"],
  ApplyPatch: ["Edit", "Write", "Delete"],
};

export function matches({ match }: HookConfig, tool: string): boolean {
  return match === undefined || [tool, ...(others[tool] ?? [])].some((name) => match.test(name));
}

/**
 * The fault of a match that lists names, one of which no tool has: a guard on `bash` guards nothing. A name with two
 * underscores may be that of a server's tool, and other patterns are left alone.
 */
export function faultOfMatch({ match }: HookConfig, tools: readonly string[]): string | undefined {
  const listed = /^\^\(\?:(\w+(?:\|\w+)*)\)\$$/.exec(match?.source ?? "")?.[1] ?? "";
  const unknown = listed.split("|").find((name) => name !== "" && !name.includes("__") && !tools.includes(name));
  if (unknown === undefined) return undefined;
  const meant = nearest(unknown, tools);
  const hint = meant === undefined ? `the tools are ${tools.join(", ")}` : `did you mean "${meant}"?`;
  return `no tool is called "${unknown}" (${hint})`;
}
