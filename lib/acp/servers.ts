import type { McpServer } from "@agentclientprotocol/sdk";
import { KodaError } from "../errors.ts";

/** The MCP servers of a client, as `.mcp.json` has them. */
export function serversOf(servers: readonly McpServer[]): Record<string, unknown> {
  return Object.fromEntries(servers.map((server) => [server.name, configOf(server)]));
}

function configOf(server: McpServer): unknown {
  if (!("type" in server)) return { command: server.command, args: server.args, env: recordOf(server.env) };
  if (server.type === "http") return { url: server.url, headers: recordOf(server.headers) };
  throw new KodaError(
    "usage",
    `Cannot use the MCP server "${server.name}": koda speaks stdio and http, not ${server.type}`,
  );
}

/** As in `.mcp.json`, a value may name a variable of koda's environment: `${TOKEN}`. */
function recordOf(pairs: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
