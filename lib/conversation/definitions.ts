import { type Agents, builtInAgents, findAgents } from "../agents/agents.ts";
import type { Instructions } from "../agents/instructions.ts";
import { findPlugins, noPlugins, type Plugins } from "../agents/plugins.ts";
import { expandPrompt, findPrompts, noPrompts, type Prompts } from "../agents/prompts.ts";
import { findSkills, loadSkill, noSkills, type Skills } from "../agents/skills.ts";
import type { HookConfig, McpServerConfig } from "../config/config.ts";
import type { PluginPrompt } from "../config/pluginfile.ts";
import { ProjectTrust } from "../config/trust.ts";
import type { Events, Notice } from "../engine/event.ts";
import type { Prompt } from "../engine/turn.ts";
import { KodaError } from "../errors.ts";
import { realPaths } from "../files/real.ts";
import type { ModelInfo } from "../model/model.ts";
import { askUserName } from "../tools/askuser.ts";
import { skillName, type SkillSource } from "../tools/skill.ts";
import type { Tool } from "../tools/tool.ts";
import type { Allowance } from "./allowance.ts";
import type { TurnRequest } from "./conversation.ts";
import type { Settings } from "./settings.ts";
import { misspeltTools, ownToolNames } from "./skilltools.ts";

export type Definitions = {
  skills: Skills;
  prompts: Prompts;
  agents: Agents;
  plugins: Plugins;
  /** The MCP servers of plugins, and of the configuration, which counts where both have one by that name. */
  servers: ReadonlyMap<string, McpServerConfig>;
  /** Those of the configuration, and after them those of plugins. */
  hooks: readonly HookConfig[];
};

type DefinitionSettings = Pick<Settings, "bare" | "loaded" | "root" | "home" | "configDirectory">;

/** The tools that the definition of an agent may name, beside those of servers. */
export const agentToolNames: readonly string[] = [
  ...ownToolNames,
  askUserName,
  ..."McpList McpRead McpTools McpCall".split(" "),
];

/** The definitions of a run: the user's, and those of a project that is trusted. */
export function definitionsFor(settings: DefinitionSettings, { hide }: Pick<Allowance, "hide">): Definitions {
  const { loaded, bare } = settings;
  const request = { ...settings, trust: loaded.project, hide };
  const plugins = bare ? noPlugins : findPlugins(request);
  const servers = plugins.list.flatMap(({ name, server }) => (server === undefined ? [] : [[name, server] as const]));
  return {
    skills: bare ? noSkills : findSkills({ ...request, plugins: plugins.list }),
    prompts: bare ? noPrompts : findPrompts(request),
    agents: bare ? builtInAgents : findAgents({ ...request, plugins: plugins.list, tools: agentToolNames }),
    plugins,
    servers: new Map([...servers, ...loaded.config.mcp.servers]),
    hooks: [...loaded.config.hooks, ...plugins.list.flatMap(({ hooks }) => hooks)],
  };
}

/** The skills as they are on the disk now, and the names of those that need trust in the project. */
export function skillsOn(
  settings: DefinitionSettings,
  { hide }: Pick<Allowance, "hide">,
): Skills & { skipped: readonly string[] } {
  const { loaded, bare } = settings;
  if (bare) return { ...noSkills, skipped: [] };
  const trust = new ProjectTrust(loaded.project.isTrusted);
  const hidden = [...hide, ...loaded.config.sandbox.hide.flatMap(realPaths)];
  const { list: plugins } = findPlugins({ ...settings, trust: loaded.project, hide: hidden });
  return { ...findSkills({ ...settings, trust, hide: hidden, plugins }), skipped: trust.skipped };
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

/**
 * The directories with the user's own skills: the model reads what lies beside their instructions. Not one for each
 * skill, since in a hidden place each would be a mount for every command.
 */
export function directoriesOf({ skills: { byName }, plugins }: Definitions): readonly string[] {
  const skills = [...byName.values()].map(({ file: { scope, place } }) => ({ scope, directory: place }));
  const users = [...skills, ...plugins.list].filter(({ scope }) => scope === "user");
  return [...new Set(users.map(({ directory }) => directory))];
}

/** The instructions with the texts of plugins before and after them. */
export function withPlugins(instructions: Instructions, { list }: Plugins): Instructions {
  const blocksOf = (slot: PluginPrompt["slot"]) =>
    list
      .flatMap(({ name, prompt }) => (prompt?.slot === slot ? [{ ...prompt, path: `plugin:${name}` }] : []))
      .sort((a, b) => b.priority - a.priority)
      .map(({ path, text }) => ({ path, text }));
  return { ...instructions, blocks: [...blocksOf("before"), ...instructions.blocks, ...blocksOf("after")] };
}

const mostNotices = 20;

/** A directory of broken skills would bury everything else. */
export function definitionNotices({ skills, prompts, agents, plugins }: Definitions): Notice[] {
  const found = [
    ["skill", { notices: [...skills.notices, ...misspeltTools(skills)] }],
    ["prompt", prompts],
    ["agent", agents],
    ["plugin", plugins],
  ] as const;
  return found.flatMap(([code, { notices }]) => noticesFor(code, notices));
}

function noticesFor(code: string, notices: readonly string[]): Notice[] {
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
