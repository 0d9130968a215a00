import { messageOf } from "../errors.ts";
import { failed, inputOf, type Tool, type ToolResult } from "../tools/tool.ts";
import { noEffect } from "../trust/claim.ts";
import { visibleLine } from "../visible.ts";
import { resultOf } from "./result.ts";
import type { Server } from "./server.ts";

/** Two tools for the resources and prompts of all servers, where any has them: each costs a line of the prompt. */
export function resourceTools(servers: readonly Server[]): readonly Tool[] {
  const offering = servers.filter(({ features }) => features?.hasResources === true || features?.hasPrompts === true);
  return offering.length === 0 ? [] : [listTool(offering), readTool(offering)];
}

type ListInput = { server?: string };
type ReadInput = { server: string; uri?: string; prompt?: string; arguments?: Record<string, string> };

function listTool(servers: readonly Server[]): Tool<ListInput> {
  return {
    name: "McpList",
    about: `Lists the resources and prompts of MCP servers (${servers.map(({ name }) => name).join(", ")}).`,
    input: inputOf({ server: { type: "string" } }),
    isGuarded: true,
    again: ["read"],
    claim: () => noEffect,
    async run({ server: wanted }, context) {
      const asked = wanted === undefined ? servers : servers.filter(({ name }) => name === wanted);
      if (asked.length === 0) return unknownServer(wanted ?? "", servers);
      const lists = await Promise.all(asked.map(async (server) => listOf(server, context.signal)));
      return resultOf({ content: [{ type: "text", text: lists.join("\n\n") }] }, context);
    },
  };
}

async function listOf(server: Server, signal: AbortSignal): Promise<string> {
  const { hasResources, hasPrompts } = server.features ?? {};
  try {
    const lines = await server.ask(async (client, limits) => {
      const resources = hasResources === true ? (await client.listResources(undefined, limits)).resources : [];
      const templates =
        hasResources === true ? (await client.listResourceTemplates(undefined, limits)).resourceTemplates : [];
      const prompts = hasPrompts === true ? (await client.listPrompts(undefined, limits)).prompts : [];
      return [
        ...resources.map(({ uri, name, description }) => entry("resource", uri, description ?? name)),
        ...templates.map(({ uriTemplate, name, description }) => entry("template", uriTemplate, description ?? name)),
        ...prompts.map(({ name, description, arguments: parameters = [] }) =>
          entry("prompt", `${name}(${parameters.map((one) => one.name).join(", ")})`, description),
        ),
      ];
    }, signal);
    return [`${server.name}:`, ...(lines.length === 0 ? ["(none)"] : lines)].join("\n");
  } catch (error) {
    signal.throwIfAborted();
    return `${server.name}: ${messageOf(error)}`;
  }
}

function entry(kind: string, name: string, about = ""): string {
  const [line = ""] = about.split("\n");
  return visibleLine(`${kind} ${name}${line === "" ? "" : `: ${line.slice(0, 200)}`}`);
}

function readTool(servers: readonly Server[]): Tool<ReadInput> {
  const text = { type: "string" };
  const input = inputOf(
    { server: text, uri: text, prompt: text, arguments: { type: "object", additionalProperties: text } },
    ["server"],
  );
  return {
    name: "McpRead",
    about: "Reads a resource of an MCP server by its uri, or a prompt by its name with arguments.",
    input,
    isGuarded: true,
    again: ["read"],
    claim: () => noEffect,
    async run({ server: wanted, uri, prompt, arguments: values = {} }, context) {
      const server = servers.find(({ name }) => name === wanted);
      if (server === undefined) return unknownServer(wanted, servers);
      if ((uri === undefined) === (prompt === undefined)) return failed("Give either uri or prompt.");
      try {
        const content = await server.ask(async (client, limits) => {
          if (uri === undefined) {
            const { messages } = await client.getPrompt({ name: prompt ?? "", arguments: values }, limits);
            return messages.map((message) => message.content);
          }
          const { contents } = await client.readResource({ uri }, limits);
          return contents.map((resource) => ({ type: "resource" as const, resource }));
        }, context.signal);
        return resultOf({ content }, context);
      } catch (error) {
        context.signal.throwIfAborted();
        return failed(`The MCP server "${wanted}" did not give it: ${messageOf(error)}`);
      }
    },
  };
}

function unknownServer(name: string, servers: readonly Server[]): ToolResult {
  return failed(`There is no MCP server "${name}" here: expected one of ${servers.map((one) => one.name).join(", ")}.`);
}
