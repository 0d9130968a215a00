import { describedBy, excerptOfYaml, toolsIn } from "./fields.ts";
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
  const described = describedBy(parsed.fields, { kind: "skill", entry });
  if ("problem" in described) return described;

  const { "allowed-tools": given, allowed_tools: misspelt } = parsed.fields;
  // A limit that is written in another way still is one.
  const tools = given ?? misspelt ?? null;
  const allowed = tools === null ? undefined : toolsIn(tools);
  if (tools !== null && allowed === undefined)
    return { problem: `"allowed-tools" is ${excerptOfYaml(tools)}, expected names of tools, separated by spaces` };
  return { ...described, body: parsed.body, ...(allowed !== undefined && { allowed }) };
}
