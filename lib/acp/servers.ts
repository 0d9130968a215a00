import type { McpServer } from "@agentclientprotocol/sdk";
import { KodaError } from "../errors.ts";

/** The MCP servers of a client, as `.mcp.json` has them. */
export function serversOf(servers: readonly McpServer[]): Record<string, unknown> {
  const named = new Map<string, unknown>();
  for (const server of servers) named.set(freeName(plainName(server.name), named), configOf(server));
  return Object.fromEntries(named);
}

/** Clients name servers as they like. Names of tools begin with these. */
function plainName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/__+/g, "_");
  return plain.slice(0, 28) || "server";
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}-${count}`;
  return free;
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
