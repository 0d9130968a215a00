import type { JsonRecord } from "../config/json.ts";
import { unknownKey } from "../config/unknownkey.ts";
import { nearest } from "../nearest.ts";
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

  const misspelt = Object.keys(parsed.fields).find(isNearlyLimit);
  if (misspelt !== undefined) return { problem: unknownKey(misspelt, "in its front matter", [limitKey]) };
  const tools = limitIn(parsed.fields);
  const allowed = tools === null ? undefined : toolsIn(tools);
  if (tools !== null && allowed === undefined)
    return { problem: `"allowed-tools" is ${excerptOfYaml(tools)}, expected names of tools, separated by spaces` };
  return { ...described, body: parsed.body, ...(allowed !== undefined && { allowed }) };
}

const limitKey = "allowed-tools";

/** A limit that is written in another way (`allowed_tools`, `allowedTools`) still is one. */
function limitIn(fields: JsonRecord): unknown {
  const given = [limitKey, ...Object.keys(fields)].filter(isLimit).map((key) => fields[key] ?? null);
  return given.find((value) => value !== null) ?? null;
}

const isLimit = (key: string) => key.replace(/[-_ ]/g, "").toLowerCase() === "allowedtools";

/** Without its limit the skill would be wider. Other programs have `disallowed-tools`, which is no mistake. */
function isNearlyLimit(key: string): boolean {
  return !isLimit(key) && !/^dis/i.test(key) && nearest(key, [limitKey]) !== undefined;
}
