import { dirname } from "node:path";
import { findSkills, loadSkill, noSkills, type Skills } from "../agents/skills.ts";
import type { Notice } from "../engine/event.ts";
import { skillName, type SkillSource } from "../tools/skill.ts";
import type { Tool } from "../tools/tool.ts";
import type { Allowance } from "./allowance.ts";
import type { Settings } from "./settings.ts";

/** The skills of a run: the user's, and those of a project that is trusted. */
export function skillsFor(settings: Settings, { hide }: Pick<Allowance, "hide">): Skills {
  if (settings.bare) return noSkills;
  return findSkills({ ...settings, trust: settings.loaded.project, hide });
}

/** The skills that the model can load by itself: none where it may not use the tool. */
export function skillsFrom(tools: readonly Pick<Tool, "name">[], skills: Skills): Skills {
  return tools.some(({ name }) => name === skillName) ? skills : noSkills;
}

/** For the Skill tool. */
export function sourceOf({ byName }: Skills): SkillSource {
  return {
    names: [...byName.keys()],
    load(name) {
      const skill = byName.get(name);
      return skill === undefined ? { problem: `The skill "${name}" is gone` } : loadSkill(skill);
    },
  };
}

/** The directories of the user's own skills: the model reads what lies beside their instructions. */
export function directoriesOf({ byName }: Skills): readonly string[] {
  const skills = [...byName.values()].filter(({ file }) => file.scope === "user");
  return skills.map(({ file }) => dirname(file.path));
}

const mostNotices = 20;

/** A directory of broken skills would bury everything else. */
export function skillNotices({ notices }: Skills): Notice[] {
  const more = notices.length - mostNotices;
  const rest = more > 0 ? [`${more} more notices about skills: koda doctor lists them`] : [];
  const messages = [...notices.slice(0, mostNotices), ...rest];
  return messages.map((message) => ({ type: "notice", level: "warn", code: "skill", message }));
}
