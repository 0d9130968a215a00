import { isListOf, isString } from "../session/check.ts";
import { visibleLine } from "../visible.ts";
import { parseFrontMatter } from "./frontmatter.ts";

/** A file of the Agent Skills specification, as far as koda uses it. */
export type SkillFile = {
  readonly description: string;
  /** The only tools that it needs, as they are written: `Read`, `Bash(git:*)`. */
  readonly allowed?: readonly string[];
  readonly body: string;
};

/** `entry` is the name of the skill's directory. */
export function parseSkill(text: string, entry: string): SkillFile | { problem: string } {
  const parsed = parseFrontMatter(text);
  if ("problem" in parsed) return parsed;
  const { name, description, "allowed-tools": given, allowed_tools: misspelt } = parsed.fields;
  // A limit that is written in another way still is one.
  const tools = given ?? misspelt ?? null;
  if (name !== entry) return { problem: `"name" is ${excerpt(name)}, expected ${excerpt(entry)} like its directory` };
  if (!isSkillName(entry)) return { problem: `"name" is ${excerpt(name)}, expected ${nameRule}` };

  if (typeof description !== "string" || description.trim() === "")
    return { problem: `"description" is ${excerpt(description)}, expected when to use the skill` };
  const plain = description.replace(/[\s\p{Cc}]+/gu, " ").trim();
  if ([...plain].length > longestDescription)
    return { problem: `"description" is longer than ${longestDescription} characters` };

  const allowed = tools === null ? undefined : toolsIn(tools);
  if (tools !== null && allowed === undefined)
    return { problem: `"allowed-tools" is ${excerpt(tools)}, expected names of tools, separated by spaces` };
  return { description: plain, body: parsed.body, ...(allowed !== undefined && { allowed }) };
}

const longestDescription = 1024;
const nameRule = "at most 64 lower-case letters, digits and single hyphens";

function isSkillName(name: string): boolean {
  return name.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name);
}

/** Many skills have commas or a list. Spaces in parentheses belong to a pattern: `Bash(npm run *)`. */
function toolsIn(value: unknown): readonly string[] | undefined {
  const texts = typeof value === "string" ? [value] : value;
  if (!isListOf(isString)(texts)) return undefined;
  return texts.flatMap((text) => text.match(/[^\s,()]+(?:\([^)]*\)?)?/g) ?? []);
}

/** Aliases may make a circle of a list or a mapping. */
function excerpt(value: unknown): string {
  if (value === undefined || value === null) return "missing";
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "a mapping";
  const text = visibleLine(JSON.stringify(value));
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
