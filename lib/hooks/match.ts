import type { HookConfig } from "../config/config.ts";

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
