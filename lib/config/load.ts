import { realpathSync } from "node:fs";
import { unlessRefused } from "../errors.ts";
import { assemble } from "./assemble.ts";
import type { LoadedConfig } from "./config.ts";
import { readConfigFile } from "./configfile.ts";
import { appendEntry, defaultValues, setEntries, type EffectiveValues } from "./effective.ts";
import type { ConfigEntry } from "./entries.ts";
import { formatPath } from "./keypath.ts";
import { applyEnvironment, applyFlags, applySet, type Overrides } from "./overrides.ts";
import { projectConfigFile, projectConfigName, userConfigFile, type UserEnvironment } from "./paths.ts";
import { keys, typedKeys, type KeyName } from "./schema.ts";
import { applyClientServers, applyProjectServers, applyServersFile, forgetServers } from "./serverfiles.ts";
import { ProjectTrust } from "./trust.ts";

type ConfigRequest = UserEnvironment & {
  /** The project's root, absolute: relative paths start here. */
  readonly root: string;
  /** Read neither the user's file nor the project's. */
  readonly bare: boolean;
  /** The project's files may widen what a run does. Only the user can say so, never a file of the project. */
  readonly isTrusted: boolean;
  /** The `KEY=VALUE` of every `--config`. */
  readonly sets: readonly string[];
  /** The files of every `--mcp-config`, absolute. */
  readonly mcpFiles?: readonly string[];
  /** The MCP servers that a client brings (`koda acp`), as such a file has them. */
  readonly clientServers?: Readonly<Record<string, unknown>>;
  /** The values of other flags. */
  readonly overrides: Overrides;
};

/** Lowest precedence first: default, user, project, environment, flag. */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const effective = defaultValues();
  const project = new ProjectTrust(request.isTrusted);
  if (!request.bare) await applyFiles(effective, request, project);
  for (const file of request.mcpFiles ?? []) await applyServersFile(effective, file, project);
  applyClientServers(effective, request.clientServers ?? {}, project);
  applyEnvironment(effective, request.env);
  for (const set of request.sets) applySet(effective, set);
  applyFlags(effective, request.overrides);

  const entries = [...effective];
  return {
    config: assemble(effective, request),
    origins: new Map(entries.map(([path, { origin }]) => [path, origin])),
    display: new Map(entries.map(([path, { key, raw }]) => [path, masked(key, raw)])),
    project,
  };
}

function masked(key: KeyName, raw: unknown): unknown {
  const { mask } = typedKeys[key].type;
  return mask === undefined ? raw : mask(raw);
}

async function applyFiles(effective: EffectiveValues, request: ConfigRequest, trust: ProjectTrust): Promise<void> {
  const userFile = userConfigFile(request);
  const projectFile = projectConfigFile(request.root);
  if (userFile !== undefined) setEntries(effective, await readConfigFile(userFile, userFile), `user ${userFile}`);
  // KODA_HOME may be the project's .koda, or that a link to it; the file is the user's then.
  const isOwn = userFile !== undefined && realPathOf(projectFile) === realPathOf(userFile);
  const within = request.root;
  if (!isOwn) applyProject(effective, await readConfigFile(projectFile, projectConfigName, { within }), trust);
  await applyProjectServers(effective, request.root, trust);
}

function realPathOf(path: string): string {
  return unlessRefused(() => realpathSync(path)) ?? path;
}

/**
 * A project file comes with someone's repository, so only values that allow less than before are applied, unless the
 * user trusts it. Even then it removes no denial and no hook.
 */
function applyProject(effective: EffectiveValues, entries: readonly ConfigEntry[], trust: ProjectTrust): void {
  const origin = `project ${projectConfigName}` as const;
  if (trust.isTrusted) forgetServers(effective, entries);
  for (const entry of entries) {
    if (keys[entry.key].type.denies) appendEntry(effective, entry, origin);
    else if (isNeverOfProject(entry)) trust.skip(`${projectConfigName}: ${nameOfSkipped(entry, trust)}`);
    else if (isNarrower(entry, effective) || trust.admits(`${projectConfigName}: ${nameOfSkipped(entry, trust)}`))
      if (typedKeys[entry.key].type.grows) appendEntry(effective, entry, origin);
      else setEntries(effective, [entry], origin);
  }
}

function isNeverOfProject({ key }: ConfigEntry): boolean {
  return typedKeys[key].ofProject === "never";
}

function isNarrower({ key, path, raw }: ConfigEntry, effective: EffectiveValues): boolean {
  if (typedKeys[key].ofProject !== undefined) return false;
  return typedKeys[key].type.narrows?.(raw, effective.get(formatPath(path))?.raw) ?? false;
}

/** Without trust a project's providers are ignored as a whole, so one word names them. */
function nameOfSkipped({ key, path }: ConfigEntry, { isTrusted }: ProjectTrust): string {
  return key.includes("*") && !isTrusted ? (path[0] ?? key) : formatPath(path);
}
