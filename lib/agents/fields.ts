import type { JsonRecord } from "../config/json.ts";
import { isListOf, isString } from "../session/check.ts";
import { visibleLine } from "../visible.ts";

/** The entry whose name is that of the definition. */
const holders = { skill: "directory", agent: "file" } as const;

const longestDescription = 1024;
const nameRule = "at most 64 lower-case letters, digits and single hyphens";

/** The description of a definition, on one line. Its `name` has to be `entry`. */
export function describedBy(
  { name, description }: JsonRecord,
  { kind, entry }: { kind: keyof typeof holders; entry: string },
): { description: string } | { problem: string } {
  if (name !== entry)
    return { problem: `"name" is ${excerptOfYaml(name)}, expected ${excerptOfYaml(entry)} like its ${holders[kind]}` };
  if (!isDefinitionName(entry)) return { problem: `"name" is ${excerptOfYaml(name)}, expected ${nameRule}` };
  if (typeof description !== "string" || description.trim() === "")
    return { problem: `"description" is ${excerptOfYaml(description)}, expected when to use the ${kind}` };
  const plain = description.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if ([...plain].length <= longestDescription) return { description: plain };
  return { problem: `"description" is longer than ${longestDescription} characters` };
}

function isDefinitionName(name: string): boolean {
  return name.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name);
}

/**
 * Names of tools in a text or a list, separated by spaces or commas. Spaces in parentheses belong to a pattern:
 * `Bash(npm run *)`.
 */
export function toolsIn(value: unknown): readonly string[] | undefined {
  const texts = typeof value === "string" ? [value] : value;
  if (!isListOf(isString)(texts)) return undefined;
  return texts.flatMap((text) => text.match(/[^\s,()]+(?:\([^)]*\)?)?/g) ?? []);
}

/** Aliases may make a circle of a list or a mapping. */
export function excerptOfYaml(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "empty";
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a mapping";
  const text = visibleLine(JSON.stringify(value));
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
