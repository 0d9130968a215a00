import type { AgentDefinition, Agents } from "../agents/agents.ts";
import { invokeAgentName, taskSendName } from "../tools/agentcalls.ts";
import { askUserName } from "../tools/askuser.ts";
import { finishName } from "../tools/finish.ts";
import type { Tool } from "../tools/tool.ts";
import { standsFor } from "../trust/gate.ts";
import { visibleLine } from "../visible.ts";
import type { Settings } from "./settings.ts";
import { withTwins } from "./tools.ts";

export const forkName = "fork";

const forkAbout = "knows everything that you know here, and works on a part of the task with the same tools.";

/** The agents as the model is told of them. */
export function offeredAgents({ byName }: Agents): { name: string; description: string }[] {
  const named = [...byName.values()].map(({ name, description }) => ({ name, description }));
  return [...named, { name: forkName, description: forkAbout }];
}

/** Of these tools exactly those that the definition of an agent names, if it names any. A run can always end. */
export function namedTools(agent: Pick<AgentDefinition, "tools"> | undefined, tools: readonly Tool[]): readonly Tool[] {
  if (agent?.tools === undefined) return tools;
  const names = [...withTwins(agent.tools), finishName];
  return tools.filter(({ name }) => names.some((entry) => standsFor(entry, name)));
}

/** A warning that --allow-tool leaves an agent none of the tools that its definition names. */
export function whyNoTools(agent: AgentDefinition | undefined, { allow }: Settings["tools"]): string | undefined {
  if (agent?.tools === undefined || agent.tools.length === 0 || allow.length === 0) return undefined;
  const [own, allowed] = [withTwins(agent.tools), withTwins(allow)];
  if (own.some((name) => allowed.some((other) => standsFor(name, other) || standsFor(other, name)))) return undefined;
  const [named, flagged] = [agent.tools, allow].map((names) => names.map(visibleLine).join(", "));
  return `The agent "${agent.name}" has no tools: it may use ${named}, and --allow-tool leaves only ${flagged}`;
}

/** An agent starts no agents and asks no questions, and its answer is its end. */
const forParents: readonly string[] = [invokeAgentName, taskSendName, askUserName, finishName];

/** The tools of an agent that a conversation has started. */
export function toolsForAgent(agent: AgentDefinition, tools: readonly Tool[]): readonly Tool[] {
  return namedTools(agent, tools).filter(({ name }) => !forParents.includes(name));
}
