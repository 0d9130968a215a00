import { accountHome } from "../lib/config/account.ts";
import type { LoadedConfig } from "../lib/config/config.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { configDirectory, findDataDirectory } from "../lib/config/paths.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { definitionsFor, directoriesOf } from "../lib/conversation/definitions.ts";
import { userHookFaults } from "../lib/conversation/userhooks.ts";
import { inMemory } from "../lib/session/database.ts";
import type { CheckResult } from "./checks.ts";
import { listedHook, listedServer } from "./listed.ts";
import type { CurrentProject } from "./project.ts";
import { version } from "./version.ts";

/** The MCP servers of a run here. Only those that it cannot do without are started. */
export async function checkServerList(
  project: CurrentProject,
  loaded: LoadedConfig,
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const definitions = definitionsOf(project, loaded);
  const servers = [...definitions.servers].map(([name, one]) => listedServer(name, one, loaded));
  const lines = servers.map(
    ({ name, target, enabled, required, origin }) =>
      `${name}: ${target} (${enabled ? "" : "disabled, "}${required ? "required, " : ""}${origin})`,
  );
  const isEveryTried = servers.every(({ enabled, required }) => enabled && required);
  const next = isEveryTried ? [] : ["koda mcp check starts each and counts its tools"];
  return [
    { status: "ok", message: [...lines, ...next].join("\n") || "none", servers },
    ...(await checkRequired(project, loaded, { definitions, signal })),
    ...skipped(loaded, ofServers),
  ];
}

type Checking = { definitions: ReturnType<typeof definitionsOf>; signal: AbortSignal };

/** A run fails when a required server does not start. */
async function checkRequired(
  project: CurrentProject,
  loaded: LoadedConfig,
  { definitions, signal }: Checking,
): Promise<CheckResult[]> {
  const configs = new Map([...definitions.servers].filter(([, { enabled, required }]) => enabled && required));
  if (configs.size === 0) return [];
  const { tryServers } = await import("./servertrial.ts");
  const trial = {
    configs,
    settings: { ...settingsOf(project, loaded), version, database: inMemory },
    allowance: wantedOf(loaded.config),
    definitionDirectories: directoriesOf(definitions),
    post: () => {},
  };
  const tried = await tryServers(trial, signal);
  return tried.flatMap(({ name, status, error, fix = `koda mcp check ${name} shows more` }) =>
    status === "failed"
      ? [{ status: "fail" as const, message: `${name} is required and did not start: ${error}`, fix }]
      : [],
  );
}

/** The hooks of a run here. They are not run. */
export async function checkHooks(project: CurrentProject, loaded: LoadedConfig): Promise<CheckResult[]> {
  const { origins } = loaded;
  const { plugins, hooks: all } = definitionsOf(project, loaded);
  const hooks = [
    ...loaded.config.hooks.map((hook) => listedHook(hook, origins.get("hooks") ?? "default")),
    ...plugins.list.flatMap(({ name, hooks: own }) => own.map((hook) => listedHook(hook, `plugin ${name}`))),
  ];
  const lines = hooks.map(
    ({ on, match, command, origin }) => `${on}${match === undefined ? "" : ` ${match}`}: ${command} (${origin})`,
  );
  const faults = (await userHookFaults(all)).map((message) => ({ status: "warn" as const, message }));
  return [{ status: "ok", message: lines.join("\n") || "none", hooks }, ...faults, ...skipped(loaded, ofHooks)];
}

/** True for what is told with the servers or the hooks, and not with the rest of the configuration. */
export function isOfPrograms(name: string): boolean {
  return ofServers.test(name) || ofHooks.test(name);
}

const ofServers = /^(?:\.mcp\.json(?:: |$)|\.koda\/config\.json: mcp(?:\.|$))/;
const ofHooks = /^\.koda\/config\.json: hooks$/;

function skipped({ project }: LoadedConfig, which: RegExp): CheckResult[] {
  const names = project.skipped.filter((name) => which.test(name));
  return names.map((name) => ({ status: "warn", message: describeSkipped(name) }));
}

function definitionsOf(project: CurrentProject, loaded: LoadedConfig) {
  return definitionsFor(settingsOf(project, loaded), wantedOf(loaded.config));
}

function settingsOf(project: CurrentProject, loaded: LoadedConfig) {
  const directories = { dataDirectory: findDataDirectory(project), configDirectory: configDirectory(project) };
  return { ...project, ...directories, accountHome: accountHome(), loaded, sandboxed: true, bare: false };
}
