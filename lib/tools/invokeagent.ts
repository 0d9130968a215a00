import { noEffect } from "../trust/claim.ts";
import { type AgentRequest, invokeAgentName } from "./agentcalls.ts";
import about from "./invoke-agent.md" with { type: "text" };
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
