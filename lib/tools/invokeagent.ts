import { noEffect } from "../trust/claim.ts";
import { type AgentRequest, invokeAgentName, taskSendName } from "./agentcalls.ts";
import about from "./invoke-agent.md" with { type: "text" };
import sendAbout from "./task-send.md" with { type: "text" };
import { failed, inputOf, type Tool } from "./tool.ts";

/** An agent as the model is told of it. */
type Offered = { readonly name: string; readonly description: string };

/** An agent's turn is stopped within the grace of its own calls. */
const graceMs = 4_000;

/**
 * Starting an agent changes nothing by itself: each of its calls makes a claim of its own. So several start together,
 * and none while a call that writes is running.
 */
export function invokeAgentTool(agents: readonly Offered[]): Tool<AgentRequest> {
  return {
    name: invokeAgentName,
    about: [about.trim(), ...agents.map(({ name, description }) => `- ${name}: ${description}`)].join("\n"),
    input: inputOf(
      {
        agent: { type: "string", enum: agents.map(({ name }) => name) },
        prompt: { type: "string" },
        background: { type: "boolean" },
        schema: { type: "object" },
      },
      ["agent", "prompt"],
    ),
    graceMs,
    claim: () => noEffect,
    async run(request, { agents: calls, call, signal }) {
      if (request.prompt.trim() === "") return failed(`The agent was not started: "prompt" is empty. ${wantsPrompt}`);
      return await calls.start(request, { call, signal });
    },
  };
}

const wantsPrompt = "Say everything that it needs to know, and what to answer.";

type Message = { id: string; message: string };

export const taskSendTool = {
  name: taskSendName,
  about: sendAbout,
  input: inputOf({ id: { type: "string" }, message: { type: "string" } }, ["id", "message"]),
  claim: () => noEffect,
  async run({ id, message }, { agents, tasks }) {
    if (message.trim() === "") return failed(`Nothing was sent: "message" is empty.`);
    const sent = agents.send(id, message);
    if (sent !== undefined) return sent;
    const isCommand = tasks.list().some((task) => task.id === id);
    return failed(isCommand ? `"${id}" is a command, which takes no messages` : `There is no background agent "${id}"`);
  },
} satisfies Tool<Message>;
