import { join } from "node:path";
import type { Instructions } from "../agents/instructions.ts";
import type { McpServerConfig } from "../config/config.ts";
import { variablesIn } from "../config/mask.ts";
import type { Event } from "../engine/event.ts";
import type { Offer, Servers } from "../mcp/servers.ts";
import { isSecretHeader } from "../model/headers.ts";
import { type Policy, readOnly } from "../sandbox/policy/policy.ts";
import { hostTmp } from "../sandbox/policy/reach.ts";
import type { Tool } from "../tools/tool.ts";
import { KodaError } from "../errors.ts";
import { isNamedSecret } from "../shell/env.ts";
import { mayUse, namesServerTool, standsFor } from "../trust/gate.ts";
import { type Allowance, writableRoots } from "./allowance.ts";
import type { Settings } from "./settings.ts";
import { toolChoice } from "./tools.ts";
import type { Workspace } from "./workspace.ts";

export type ServerConfigs = ReadonlyMap<string, McpServerConfig>;
type Place = {
  settings: Pick<Settings, "version" | "root" | "env" | "loaded">;
  workspace: Workspace;
  allowance: Allowance;
  /** The user can be asked in the name of a server. */
  canElicit?: boolean;
  post: (event: Event) => void;
};

export type ServerPlace = Place & {
  settings: Settings;
  /** Aborted when the user does not want to wait for them any more. */
  interrupt?: AbortSignal | undefined;
};

/** Starts the MCP servers, and settles when the first request may be sent. Without any, their code is not loaded. */
export async function openServers(
  configs: ServerConfigs,
  place: ServerPlace,
  signal: AbortSignal,
): Promise<Servers | undefined> {
  const { settings } = place;
  assertServers(settings, [...configs.keys()]);
  if (configs.size === 0) return undefined;
  await using held = new AsyncDisposableStack();
  const servers = held.use(await startServers(configs, place, signal));
  await servers.ready(signal, place.interrupt);
  await assertNames(settings, servers);
  held.move();
  return servers;
}

/** Starts servers where the calls of a run happen. */
export async function startServers(
  configs: ServerConfigs,
  { settings, workspace, allowance, canElicit = false, post }: Place,
  signal: AbortSignal,
): Promise<Servers> {
  const { Servers } = await import("../mcp/servers.ts");
  const { shell } = workspace.open();
  const mayWrite = allowance.mode === "auto";
  const policy = mayWrite ? workspace.policy : readOnly(workspace.policy);
  return new Servers(configs, {
    version: settings.version,
    root: settings.root,
    env: settings.env,
    start: (line, options) => shell.open(line, { ...options, env: { ...cachesIn(policy), ...options.env }, policy }),
    egress: { ...workspace.egress.ofTools, onRequest: (request) => workspace.connections.add(request) },
    writable: writableRoots(settings),
    canElicit,
    mayStart: async () => (mayWrite ? workspace.guardWriter(signal) : undefined),
    warn: (message) => post({ type: "notice", level: "warn", code: "mcp", message }),
  });
}

/** Programs that fetch a server (`npx`, `uvx`) keep it in the user's home, where nothing can be written. */
function cachesIn({ privateTmp, tmp }: Policy): Record<string, string> {
  const place = privateTmp ? hostTmp : tmp;
  return {
    npm_config_cache: join(place, "npm-cache"),
    UV_CACHE_DIR: join(place, "uv-cache"),
    DENO_DIR: join(place, "deno-cache"),
  };
}

/** The variables that may hold a secret of a server: commands never see them. */
export function serverVariables(servers: ServerConfigs): string[] {
  return [...servers.values()].flatMap(({ transport }) => {
    const texts = transport.kind === "http" ? transport.headers : transport.env;
    const isSecret = transport.kind === "http" ? isSecretHeader : isNamedSecret;
    const others = transport.kind === "http" ? [transport.url] : [transport.command, ...transport.args];
    return [
      ...[...texts].flatMap(([name, text]) =>
        variablesIn(text).filter((variable) => isSecret(name) || isNamedSecret(variable)),
      ),
      ...others.flatMap(variablesIn).filter(isNamedSecret),
    ];
  });
}

/** The tools of servers that the flags leave, as the configuration wants them offered. */
export function offeredByServers({ tools, listed }: Offer, settings: Settings): readonly Tool[] {
  const choice = toolChoice(settings);
  const left = tools.filter(({ name }) => mayUse(name, choice));
  if (settings.loaded.config.mcp.expose !== "list") return left;
  // A call is judged as the tool behind it, so that nothing else would deny these two.
  return listed(left).filter(({ name }) => choice.deny?.includes(name) !== true);
}

/** The instructions with what the servers say about their tools. */
export function withServers(instructions: Instructions, { notes }: Pick<Servers, "notes">): Instructions {
  const blocks = notes.map(({ server, text }) => ({ path: `mcp:${server}`, text, server: true as const }));
  return { ...instructions, blocks: [...instructions.blocks, ...blocks] };
}

/** Tools of a server may be known later; the server itself is known now. */
function assertServers(settings: Settings, names: readonly string[]): void {
  for (const { flag, tool } of namedTools(settings)) {
    if (names.some((name) => tool.startsWith(`${name}__`))) continue;
    const hint = names.length === 0 ? "no server is configured" : `the servers are ${names.join(", ")}`;
    throw new KodaError("usage", `${flag}: no MCP server has the tool "${tool}" (${hint})`);
  }
}

/** A misspelt denial would deny nothing: a name in the flags must be a tool's, as far as that is known. */
async function assertNames(settings: Settings, servers: Servers): Promise<void> {
  const tools = (await servers.offer()).tools.map(({ name }) => name);
  for (const { flag, tool } of namedTools(settings)) {
    const server = tool.slice(0, tool.indexOf("__"));
    if (!servers.connected.includes(server) || tools.some((name) => standsFor(tool, name))) continue;
    const own = tools.filter((name) => name.startsWith(`${server}__`));
    throw new KodaError("usage", `${flag}: unknown tool "${tool}" (the tools of "${server}" are ${own.join(", ")})`);
  }
}

/** The tools of servers that the flags name. */
function namedTools({ tools: { allow, deny } }: Settings): readonly { flag: string; tool: string }[] {
  const named = [
    ...allow.map((tool) => ({ flag: "--allow-tool", tool })),
    ...deny.map((tool) => ({ flag: "--deny-tool", tool })),
  ];
  return named.filter(({ tool }) => namesServerTool(tool));
}
