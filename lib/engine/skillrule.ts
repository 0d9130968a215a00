import { recordOf, stringIn } from "../config/json.ts";
import type { ActiveSkill } from "../session/item.ts";
import { finishName } from "../tools/finish.ts";
import { skillName } from "../tools/skill.ts";
import type { Tool } from "../tools/tool.ts";

type SkillCall = { tool: Pick<Tool, "name" | "twin">; input: unknown; home: string };

/** The rule by which the active skill refuses a call, if it does: only the tools of its `allowed-tools` may be used. */
export async function skillRule(skill: ActiveSkill | undefined, call: SkillCall): Promise<string | undefined> {
  const { name, twin } = call.tool;
  // Otherwise a skill could not be left, or a run not be ended.
  if (skill?.allowed === undefined || name === skillName || name === finishName) return undefined;
  const isTask = /^Task(List|Output|Stop)$/.test(name);
  const entries = skill.allowed
    .map(parseEntry)
    .filter(({ tool }) => tool === name || tool === twin || (isTask && tool === "Bash"));
  if (isTask ? entries.length > 0 : await allows(entries, call)) return undefined;
  return `the skill "${skill.name}" allows only ${skill.allowed.join(", ") || "no tools"}`;
}

/** `Bash(git:*)`. */
type Entry = { tool: string; pattern: string | undefined };

function parseEntry(text: string): Entry {
  const [, tool = text, pattern] = /^([^(]*)\((.*?)\)?$/s.exec(text) ?? [];
  return { tool, pattern };
}

/** Only commands can be told apart: a pattern for another tool allows nothing. */
async function allows(entries: readonly Entry[], { tool, input, home }: SkillCall): Promise<boolean> {
  if (entries.some(({ pattern }) => pattern === undefined)) return true;
  const patterns = entries.flatMap(({ pattern }) => pattern ?? []);
  const command = stringIn(recordOf(input), "command");
  if (tool.name !== "Bash" || patterns.length === 0 || command === undefined) return false;
  // Loaded here: the grammar of a shell is large.
  const { matchesPatterns } = await import("../trust/commandpattern.ts");
  return matchesPatterns(command, patterns, home);
}
