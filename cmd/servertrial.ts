import type { McpServerConfig } from "../lib/config/config.ts";
import { assertSandbox } from "../lib/conversation/workspace/confinement.ts";
import type { Allowance } from "../lib/conversation/allowance.ts";
import { hiddenProgram } from "../lib/conversation/hiddenprogram.ts";
import { startServers } from "../lib/conversation/servers.ts";
import { openWorkspace, type Workspace } from "../lib/conversation/workspace.ts";
import type { Event } from "../lib/engine/event.ts";
import { Reaper } from "../lib/shell/reaper.ts";
import type { baseSettings } from "./basesettings.ts";
import { keyVariables } from "./sandboxed.ts";

type Settings = Awaited<ReturnType<typeof baseSettings>> & { version: string; database: string };
type Configs = ReadonlyMap<string, McpServerConfig>;

type Trial = {
  configs: Configs;
  settings: Settings;
  allowance: Allowance;
  /** Commands and servers may read them. */
  definitionDirectories: readonly string[];
  post: (event: Event) => void;
};

export type TriedServer = {
  name: string;
  status: "ok" | "failed" | "disabled";
  tools: number;
  error?: string;
  /** A way to repair it, where koda knows one. */
  fix?: string;
};

/** Starts MCP servers as a run would, counts their tools and stops them. */
export async function tryServers(
  { configs, settings, allowance, definitionDirectories, post }: Trial,
  signal: AbortSignal,
): Promise<TriedServer[]> {
  if (configs.size === 0) return [];
  await using workspace = await openWorkspace({
    settings,
    allowance,
    definitionDirectories,
    accept: (confinement) => assertSandbox(confinement, allowance),
    keyVariables: keyVariables(settings.loaded.config, configs),
    post,
    reaper: new Reaper(),
    stop: signal,
  });
  await using servers = await startServers(configs, { settings, workspace, allowance, post }, signal);
  await servers.attempted(signal);
  const { counts: tools } = await servers.offer();
  const place = { settings, workspace, configs };
  return servers.statuses.map((status) => triedServer(status, tools.get(status.name) ?? 0, place));
}

type Servers = Awaited<ReturnType<typeof startServers>>;
type Place = { settings: Settings; workspace: Workspace; configs: Configs };

function triedServer({ name, status, error }: Servers["statuses"][number], tools: number, place: Place): TriedServer {
  if (status === "disabled") return { name, status, tools };
  if (status === "connected") return { name, status: "ok", tools };
  const transport = place.configs.get(name)?.transport;
  const { settings, workspace } = place;
  const fix = transport?.kind === "stdio" ? hiddenProgram(transport, settings, workspace.policy) : undefined;
  return { name, status: "failed", tools, error: error ?? "it did not start", ...(fix !== undefined && { fix }) };
}
