import type { EditDialect } from "../config/config.ts";
import { KodaError } from "../errors.ts";
import { applyPatchTool } from "../tools/applypatch.ts";
import { type AskUser, askUserName, askUserTool } from "../tools/askuser.ts";
import { deleteTool } from "../tools/delete.ts";
import { editTool } from "../tools/edit.ts";
import { invokeAgentName, taskSendName } from "../tools/agentcalls.ts";
import { finishName, finishTool } from "../tools/finish.ts";
import { invokeAgentTool } from "../tools/invokeagent.ts";
import { builtInTools } from "../tools/registry.ts";
import { skillName, type SkillSource, skillTool } from "../tools/skill.ts";
import { taskSendTool } from "../tools/tasks.ts";
import type { Tool } from "../tools/tool.ts";
import { writeTool } from "../tools/write.ts";
import { offeredTools } from "../trust/gate.ts";
import type { Settings } from "./settings.ts";

type Wanted = Pick<Settings, "tools" | "requiresFinish" | "answerSchema"> & {
  model: Pick<Settings["model"], "edit">;
};

export type ToolOptions = {
  edit?: EditDialect;
  withoutCommands?: boolean;
  skills?: SkillSource;
  /** The agents that the model may start. */
  agents?: readonly { name: string; description: string }[];
  /** Absent where the user cannot be asked. */
  ask?: AskUser | undefined;
};

/**
 * The tools of a run, with Edit or ApplyPatch. Finish is one of them only when nothing else may end the run, and Skill
 * only where there is a skill, though both flags may name it anywhere.
 */
export function toolsOf(
  settings: Wanted,
  { edit = "edit", withoutCommands = false, skills = noSource, agents = [], ask }: ToolOptions = {},
): readonly Tool[] {
  const { requiresFinish, answerSchema, tools } = settings;
  if (requiresFinish && tools.deny.includes(finishName))
    throw new KodaError("usage", `--deny-tool ${finishName} cannot be used with --finish required, which needs it`);
  const forAgents = [invokeAgentTool(agents), taskSendTool];
  const known = [
    ...builtInTools,
    skillTool(skills),
    ...forAgents,
    askUserTool(ask ?? (async () => undefined)),
    ...(requiresFinish ? [finishTool(answerSchema)] : []),
  ];
  const offered = offeredTools(known, toolChoice(settings), withoutCommands);
  if (settings.model.edit === "patch" && canEdit(offered) && !mayPatch(settings)) throw patchNotAllowed();
  const { twin } = edit === "patch" && mayPatch(settings) ? applyPatchTool : editTool;
  const mayInvoke = agents.length > 0 && offered.some(({ name }) => name === invokeAgentName);
  return offered.filter(
    ({ name }) =>
      name !== twin &&
      (name !== skillName || skills.names.length > 0) &&
      (name !== askUserName || ask !== undefined) &&
      (mayInvoke || (name !== invokeAgentName && name !== taskSendName)),
  );
}

const noSource: SkillSource = { names: [], load: () => ({ problem: "There are no skills" }) };

/**
 * The tools that the flags name. The editing tools go by either name, since the model decides which one it is;
 * --allow-tool does not take away the only end of a run.
 */
export function toolChoice({ tools: { allow, deny }, requiresFinish }: Wanted): Settings["tools"] {
  const isEnd = requiresFinish && allow.length > 0;
  return { allow: withTwins(isEnd ? [...allow, finishName] : allow), deny: withTwins(deny) };
}

export function canEdit(tools: readonly Tool[]): boolean {
  return tools.some(({ name }) => editors.includes(name));
}

const editors: readonly string[] = [editTool.name, applyPatchTool.name];

export function withTwins(names: readonly string[]): readonly string[] {
  return names.some((name) => editors.includes(name)) ? [...new Set([...names, ...editors])] : names;
}

/** A patch can also create and delete files. */
function mayPatch({ tools: { allow, deny } }: Wanted): boolean {
  if (deny.some((name) => fileTools.includes(name))) return false;
  return allow.length === 0 || allow.includes(applyPatchTool.name) || fileTools.every((name) => allow.includes(name));
}

const fileTools: readonly string[] = [writeTool.name, deleteTool.name];

function patchNotAllowed(): KodaError {
  return new KodaError(
    "usage",
    "--edit patch cannot be used without Write and Delete, since a patch can create and delete files: allow both, or " +
      "leave out --edit",
  );
}
