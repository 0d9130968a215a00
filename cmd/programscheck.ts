import type { LoadedConfig } from "../lib/config/config.ts";
import { describeSkipped } from "../lib/config/describe.ts";
import { configDirectory } from "../lib/config/paths.ts";
import { wantedOf } from "../lib/conversation/allowance.ts";
import { definitionsFor } from "../lib/conversation/definitions.ts";
import { userHookFaults } from "../lib/conversation/userhooks.ts";
import type { CheckResult } from "./checks.ts";
import { listedHook, listedServer } from "./listed.ts";
import type { CurrentProject } from "./project.ts";

/** The MCP servers of a run here. They are not started. */
export function checkServerList(project: CurrentProject, loaded: LoadedConfig): CheckResult[] {
  const servers = [...definitionsOf(project, loaded).servers].map(([name, one]) => listedServer(name, one, loaded));
  const lines = servers.map(
    ({ name, target, enabled, origin }) => `${name}: ${target} (${enabled ? "" : "disabled, "}${origin})`,
  );
  const next = servers.length === 0 ? [] : ["not started here: koda mcp check starts them"];
  return [{ status: "ok", message: [...lines, ...next].join("\n") || "none", servers }, ...skipped(loaded, ofServers)];
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
  const settings = { ...project, loaded, bare: false, configDirectory: configDirectory(project) };
  return definitionsFor(settings, wantedOf(loaded.config));
}
