import type { AgentDefinition, Agents } from "../agents/agents.ts";
import { invokeAgentName, taskSendName } from "../tools/agentcalls.ts";
import { finishName } from "../tools/finish.ts";
import type { Tool } from "../tools/tool.ts";
import { standsFor } from "../trust/gate.ts";
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

/** An agent starts no agents, and its answer is its end. */
const forParents: readonly string[] = [invokeAgentName, taskSendName, finishName];

/** The tools of an agent that a conversation has started. */
export function toolsForAgent(agent: AgentDefinition, tools: readonly Tool[]): readonly Tool[] {
  return namedTools(agent, tools).filter(({ name }) => !forParents.includes(name));
}
