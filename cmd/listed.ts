import type { HookConfig, LoadedConfig, McpServerConfig } from "../lib/config/config.ts";
import { formatPath } from "../lib/config/keypath.ts";
import { maskArgument, maskKeys, maskQuery } from "../lib/config/mask.ts";

/** A server for people and scripts; parts that may be a secret are masked. */
export type ListedServer = ReturnType<typeof listedServer>;

export function listedServer(name: string, server: McpServerConfig, { origins }: LoadedConfig) {
  const { transport, enabled, required } = server;
  const { kind } = transport;
  const words =
    kind === "stdio" ? [transport.command, ...transport.args].map(maskArgument) : [maskQuery(transport.url)];
  const key = formatPath(["mcp", "servers", name, kind === "stdio" ? "command" : "url"]);
  const origin = origins.get(key) ?? `plugin ${name}`;
  return { name, transport: kind, target: words.join(" "), enabled, required, origin };
}

/** A hook for people and scripts. */
export type ListedHook = ReturnType<typeof listedHook>;

export function listedHook({ on, match, command, required }: HookConfig, origin: string) {
  // The pattern is kept with the anchors around it.
  const tools = match?.source.slice("^(?:".length, -")$".length);
  return { on, ...(tools !== undefined && { match: tools }), command: maskKeys(command), required, origin };
}
