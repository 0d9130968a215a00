import { recordOf, stringIn } from "../config/json.ts";
import type { ActiveSkill } from "../session/item.ts";
import { invokeAgentName } from "../tools/agentcalls.ts";
import { finishName } from "../tools/finish.ts";
import { skillName } from "../tools/skill.ts";
import type { Tool } from "../tools/tool.ts";

type SkillCall = { tool: Pick<Tool, "name" | "twin">; input: unknown; home: string };

/** The rule by which the active skill refuses a call, if it does: only the tools of its `allowed-tools` may be used. */
export async function skillRule(skill: ActiveSkill, call: SkillCall): Promise<string | undefined> {
  const { name, twin } = call.tool;
  // Otherwise a skill could not be left, or a run not be ended.
  if (skill.allowed === undefined || name === skillName || name === finishName) return undefined;
  const isTask = /^Task(List|Output|Stop|Send)$/.test(name);
  const entries = skill.allowed
    .map(parseEntry)
    .filter(({ tool }) => covers(tool, name) || tool === twin || (isTask && startsTasks.includes(tool)));
  if (isTask ? entries.length > 0 : await allows(entries, call)) return undefined;
  return `the skill "${skill.name}" allows only ${skill.allowed.join(", ") || "no tools"}`;
}

/** The tools whose background tasks and agents the others are for. */
const startsTasks: readonly string[] = ["Bash", invokeAgentName];

/** `Bash(git:*)`. */
type Entry = { tool: string; pattern: string | undefined };

/** Other agents name the tools of MCP servers `mcp__server__tool`. */
function parseEntry(text: string): Entry {
  const [, tool = text, pattern] = /^([^(]*)\((.*?)\)?$/s.exec(text) ?? [];
  return { tool: tool.replace(/^mcp__/, ""), pattern };
}

/** `server__*` is every tool of a server. */
function covers(entry: string, tool: string): boolean {
  return entry === tool || (entry.endsWith("*") && tool.startsWith(entry.slice(0, -1)));
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
