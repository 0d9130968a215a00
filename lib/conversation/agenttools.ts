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

/** An agent starts no agents, and its answer is its end. */
const forParents: readonly string[] = [invokeAgentName, taskSendName, finishName];

/** Of these tools the ones that an agent is offered: exactly those that its definition names, if it names any. */
export function toolsForAgent({ tools: named }: AgentDefinition, tools: readonly Tool[]): readonly Tool[] {
  const names = named && withTwins(named);
  return tools.filter(
    ({ name }) => !forParents.includes(name) && (names === undefined || names.some((entry) => standsFor(entry, name))),
  );
}
