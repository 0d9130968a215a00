import { resolve } from "node:path";
import { type AgentDefinition, findAgents } from "../lib/agents/agents.ts";
import { loadInstructions } from "../lib/agents/instructions.ts";
import type { DefinitionFile, DefinitionRequest } from "../lib/agents/places.ts";
import { findPlugins } from "../lib/agents/plugins.ts";
import { findPrompts, loadPrompt } from "../lib/agents/prompts.ts";
import { findSkills } from "../lib/agents/skills.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { configDirectory } from "../lib/config/paths.ts";
import { ProjectTrust } from "../lib/config/trust.ts";
import { agentToolNames } from "../lib/conversation/definitions.ts";
import type { CheckResult } from "./checks.ts";
import type { CurrentProject } from "./project.ts";

/** A file that a run here would use, for `koda doctor --json`. */
export type UsedFile = { readonly name: string; readonly scope: "project" | "user"; readonly path: string };

/** The instructions of a run here, and what is wrong with others. */
export function checkInstructions({ root }: CurrentProject): CheckResult[] {
  const { blocks, notices } = loadInstructions({ cwd: root });
  const paths = blocks.map(({ path }) => path);
  return [{ status: "ok", message: paths.join("\n") || "none" }, ...notices.map(warning)];
}

export function checkSkills(project: CurrentProject): CheckResult[] {
  const request = withPlugins(project);
  const { byName, notices } = findSkills(request);
  return [used([...byName].map(([name, { file }]) => fileOf(name, file))), ...problemsOf(request, notices)];
}

export function checkAgents(project: CurrentProject): CheckResult[] {
  const request = withPlugins(project);
  const { byName, notices } = findAgents({ ...request, tools: agentToolNames });
  const agents = [...byName.values()];
  const builtIn = agents.filter(({ scope }) => scope === "built-in").map(({ name }) => `${name} (built in)`);
  const files = agents.flatMap((agent) => agentFile(agent, project));
  return [used(files, builtIn), ...problemsOf(request, notices)];
}

function agentFile({ name, scope, shown }: AgentDefinition, { root }: CurrentProject): UsedFile[] {
  return scope === "built-in" || shown === undefined ? [] : [{ name, scope, path: resolve(root, shown) }];
}

export function checkPlugins(project: CurrentProject): CheckResult[] {
  const request = requestOf(project);
  const { list, notices } = findPlugins(request);
  const files = list.map(({ name, scope, directory }) => ({ name, scope, path: directory }));
  return [used(files), ...problemsOf(request, notices)];
}

/** Prompts are read when they are used, so each is tried here. */
export function checkPrompts(project: CurrentProject): CheckResult[] {
  const request = requestOf(project);
  const { byName, notices } = findPrompts(request);
  const tried = [...byName].map(([name, file]) => ({ name, file, loaded: loadPrompt(file) }));
  const broken = tried.flatMap(({ loaded }) => ("problem" in loaded ? [loaded.problem] : []));
  const usable = tried.filter(({ loaded }) => "text" in loaded);
  return [used(usable.map(({ name, file }) => fileOf(name, file))), ...problemsOf(request, [...notices, ...broken])];
}

/** The check of plugins names those that are ignored. */
function withPlugins(project: CurrentProject): DefinitionRequest {
  const request = requestOf(project);
  const { list: plugins } = findPlugins({ ...request, trust: new ProjectTrust(project.isTrusted) });
  return { ...request, plugins };
}

function requestOf(project: CurrentProject): DefinitionRequest {
  const trust = new ProjectTrust(project.isTrusted);
  return { ...project, configDirectory: configDirectory(project), trust, hide: [] };
}

function fileOf(name: string, { scope, path }: DefinitionFile): UsedFile {
  return { name, scope, path };
}

function used(files: readonly UsedFile[], more: readonly string[] = []): CheckResult {
  const lines = files.map(({ name, scope, path }) => `${name} (${scope}: ${path})`);
  return { status: "ok", message: [...lines, ...more].join("\n") || "none", files };
}

function problemsOf({ trust }: DefinitionRequest, notices: readonly string[]): CheckResult[] {
  return [...notices, ...trust.skipped.map(describeSkipped)].map(warning);
}

function warning(message: string): CheckResult {
  return { status: "warn", message };
}
