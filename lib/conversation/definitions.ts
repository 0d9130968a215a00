import { expandPrompt, findPrompts, noPrompts, type Prompts } from "../agents/prompts.ts";
import { findSkills, loadSkill, noSkills, type Skills } from "../agents/skills.ts";
import type { Events, Notice } from "../engine/event.ts";
import type { Prompt } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import type { ModelInfo } from "../model/model.ts";
import { skillName, type SkillSource } from "../tools/skill.ts";
import type { Tool } from "../tools/tool.ts";
import type { Allowance } from "./allowance.ts";
import type { TurnRequest } from "./conversation.ts";
import type { Settings } from "./settings.ts";

type Definitions = { skills: Skills; prompts: Prompts };

/** The skills and prompts of a run: the user's, and those of a project that is trusted. */
export function definitionsFor(settings: Settings, { hide }: Pick<Allowance, "hide">): Definitions {
  if (settings.bare) return { skills: noSkills, prompts: noPrompts };
  const request = { ...settings, trust: settings.loaded.project, hide };
  return { skills: findSkills(request), prompts: findPrompts(request) };
}

/** The skills that the model can load by itself: none where it may not use the tool. */
export function skillsFrom(tools: readonly Pick<Tool, "name">[], skills: Skills): Skills {
  return tools.some(({ name }) => name === skillName) ? skills : noSkills;
}

/** For the Skill tool. */
export function sourceOf({ byName }: Skills, { contextWindow }: Pick<ModelInfo, "contextWindow">): SkillSource {
  return {
    names: [...byName.keys()],
    load(name) {
      const skill = byName.get(name);
      return skill === undefined ? { problem: `The skill "${name}" is gone` } : loadSkill(skill, contextWindow);
    },
  };
}

/** The directories of the user's own skills: the model reads what lies beside their instructions. */
export function directoriesOf({ byName }: Skills): readonly string[] {
  const skills = [...byName.values()].filter(({ file }) => file.scope === "user");
  return skills.map(({ file }) => file.directory);
}

const mostNotices = 20;

/** A directory of broken skills would bury everything else. */
export function definitionNotices({ skills, prompts }: Definitions): Notice[] {
  return [...noticesFor("skill", skills), ...noticesFor("prompt", prompts)];
}

function noticesFor(code: "skill" | "prompt", { notices }: Skills | Prompts): Notice[] {
  const more = notices.length - mostNotices;
  const rest = more > 0 ? [`${more} more notices about ${code}s: koda doctor lists them`] : [];
  const messages = [...notices.slice(0, mostNotices), ...rest];
  return messages.map((message) => ({ type: "notice", level: "warn", code, message }));
}

/**
 * The request of a prompt: `/NAME rest` becomes the prompt that is kept under that name, and what was appended to the
 * user's words stays behind it.
 */
export function expandRequest(
  { parts, words }: { parts: Prompt; words?: string | undefined },
  { prompts, events }: { prompts: Prompts; events: Pick<Events, "post"> },
): Pick<TurnRequest, "prompt" | "words"> {
  const expanded = words === undefined ? undefined : expandPrompt(words, prompts);
  const [first, ...others] = parts;
  if (words === undefined || expanded === undefined || first?.type !== "text") return { prompt: parts, words };
  if ("problem" in expanded) throw new KodaError("usage", expanded.problem);
  if ("hint" in expanded) {
    events.post({ type: "notice", level: "warn", code: "prompt", message: expanded.hint });
    return { prompt: parts, words };
  }
  const text = expanded.text + first.text.slice(words.length);
  return { prompt: [{ type: "text", text }, ...others], words: expanded.text };
}
