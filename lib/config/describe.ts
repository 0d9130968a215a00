import type { LoadedConfig, Origin } from "./config.ts";
import { projectConfigName, projectServersName } from "./paths.ts";

/** One line of `koda doctor --config`: the value as it is written in a file, and where it comes from. */
export type ConfigLine = { readonly key: string; readonly value: unknown; readonly origin: Origin };

export function describeConfig({ origins, display }: LoadedConfig): ConfigLine[] {
  return [...origins].map(([key, origin]) => ({ key, value: display.get(key), origin }));
}

/** A name of `ProjectTrust.skipped` as a sentence. */
export function describeSkipped(skipped: string): string {
  const [file, part] = splitOnce(skipped, ": ");
  if (part === undefined) return `Ignored ${file}: it needs --trust-project`;
  if (/\.(?:api_key|headers)_command$/.test(part))
    return `Ignored "${part}" in ${file}: only your own config.json may have it`;
  if (/^mcpServers\.[^.]+\.type$/.test(part))
    return `Ignored the MCP server of "${part}" in ${file}: koda does not speak SSE, only streamable HTTP ("http")`;
  if (/^(?:mcpServers\.|")/.test(part)) return `Ignored the unknown key ${part} in ${file}`;
  if (file === projectServersName) return `Ignored the MCP servers in ${file}, which need --trust-project: ${part}`;
  if (file !== projectConfigName) return `Ignored ${part} in ${file}: it needs --trust-project`;
  return `Ignored "${part}" in ${file}: without --trust-project a project can only tighten settings`;
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
