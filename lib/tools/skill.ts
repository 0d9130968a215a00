import { nearest } from "../nearest.ts";
import type { SkillText } from "../session/item.ts";
import type { Claim } from "../trust/claim.ts";
import about from "./skill.md" with { type: "text" };
import { failed, inputOf, succeeded, type Tool, type ToolResult } from "./tool.ts";

type Input = { name: string };

/** The skills that can be loaded. */
export type SkillSource = { readonly names: readonly string[]; load(name: string): SkillText | { problem: string } };

export const skillName = "Skill";

const input = inputOf({ name: { type: "string" } }, ["name"]);

/** It changes nothing, and runs alone: what the skill allows counts for the calls after it. */
const alone: Claim = { effect: "read", writes: "unknown" };

export function skillTool(skills: SkillSource): Tool<Input> {
  return { name: skillName, about, input, claim: () => alone, run: ({ name }) => Promise.resolve(load(name, skills)) };
}

function load(name: string, skills: SkillSource): ToolResult {
  // `$deploy` is how people name it.
  const wanted = name.trim().replace(/^\$/, "");
  if (!skills.names.includes(wanted)) return failed(unknownSkill(wanted, skills.names));
  const skill = skills.load(wanted);
  if ("problem" in skill) return failed(skill.problem);
  return { ...succeeded(`The skill "${wanted}" is loaded: its instructions follow.`), skill };
}

function unknownSkill(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  return `No skill is named "${name}"${hint}. The skills are: ${names.join(", ")}`;
}
