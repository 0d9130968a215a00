import { messageOf } from "../errors.ts";
import { failed, inputOf, type Tool, type ToolResult } from "../tools/tool.ts";
import { noEffect } from "../trust/claim.ts";
import { visibleLine } from "../visible.ts";
import type { Client, RequestOptions } from "./client.ts";
import { type PageParams, readPages, type ServerList } from "./pages.ts";
import { resultOf } from "./result.ts";
import type { RequestLimits, Server } from "./server.ts";

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
      const read = [
        ...(hasResources === true ? [readResources, readTemplates] : []),
        ...(hasPrompts === true ? [readPrompts] : []),
      ];
      const lines: string[] = [];
      for (const readLines of read) lines.push(...(await readLines(client, limits)));
      return lines;
    }, signal);
    return [`${server.name}:`, ...(lines.length === 0 ? ["(none)"] : lines)].join("\n");
  } catch (error) {
    signal.throwIfAborted();
    return `${server.name}: ${messageOf(error)}`;
  }
}

type ReadLines = (client: Client, limits: RequestLimits) => Promise<readonly string[]>;

const readResources: ReadLines = async (client, limits) => {
  const readPage = async (params: PageParams, options: RequestOptions) => {
    const { resources: entries, nextCursor } = await client.request({ method: "resources/list", ...params }, options);
    return { entries, nextCursor };
  };
  const list = await readPages(
    { readPage, keep: ({ uri, name, description }) => entry("resource", uri, description ?? name) },
    limits,
  );
  return linesOf(list, "resources");
};

const readTemplates: ReadLines = async (client, limits) => {
  const readPage = async (params: PageParams, options: RequestOptions) => {
    const method = "resources/templates/list";
    const { resourceTemplates: entries, nextCursor } = await client.request({ method, ...params }, options);
    return { entries, nextCursor };
  };
  const list = await readPages(
    { readPage, keep: ({ uriTemplate, name, description }) => entry("template", uriTemplate, description ?? name) },
    limits,
  );
  return linesOf(list, "templates");
};

const readPrompts: ReadLines = async (client, limits) => {
  const readPage = async (params: PageParams, options: RequestOptions) => {
    const { prompts: entries, nextCursor } = await client.request({ method: "prompts/list", ...params }, options);
    return { entries, nextCursor };
  };
  const list = await readPages(
    {
      readPage,
      keep: ({ name, description, arguments: parameters = [] }) =>
        entry("prompt", `${name}(${parameters.map((one) => one.name).join(", ")})`, description),
    },
    limits,
  );
  return linesOf(list, "prompts");
};

function linesOf({ entries, unread }: ServerList<string>, kind: string): readonly string[] {
  return unread === undefined ? entries : [...entries, `(more ${kind} ${unread})`];
}

function entry(kind: string, name: string, about = ""): string {
  const [line = ""] = about.split("\n");
  return visibleLine(`${kind} ${name.slice(0, longestName)}${line === "" ? "" : `: ${line.slice(0, 200)}`}`);
}

/** Longer than any address that servers and browsers take. */
const longestName = 8_192;

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
        const content = await server.askWithUser(async (client, limits) => {
          if (uri === undefined) {
            const { messages } = await client.getPrompt({ name: prompt ?? "", arguments: values }, limits);
            return messages.map((message) => message.content);
          }
          const { contents } = await client.readResource({ uri }, limits);
          return contents.map((resource) => ({ type: "resource" as const, resource }));
        }, context);
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
