import { assemble } from "./assemble.ts";
import type { LoadedConfig } from "./config.ts";
import { readConfigFile } from "./configfile.ts";
import { applyEnvironment, applyFlags, applySet, type Overrides } from "./overrides.ts";
import { add, put, standards, type InForce } from "./inforce.ts";
import { formatPath } from "./keypath.ts";
import { projectConfigFile, projectConfigName, userConfigFile, type Places } from "./paths.ts";
import { keys, typedKeys, type KeyName } from "./schema.ts";
import type { Setting } from "./settings.ts";

export type ConfigRequest = Places & {
  /** The project's root, absolute: its `.koda/config.json` is read, and relative paths are relative to it. */
  readonly root: string;
  /** Read neither the user's file nor the project's. */
  readonly bare: boolean;
  /** `KEY=VALUE` of every `--config`. */
  readonly sets: readonly string[];
  /** What flags of their own say. */
  readonly overrides: Overrides;
};

/** From the weakest voice to the strongest: default, user, project, environment, flag. */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const inForce = standards();
  const skipped = request.bare ? [] : await applyFiles(inForce, request);
  applyEnvironment(inForce, request.env);
  for (const set of request.sets) applySet(inForce, set);
  applyFlags(inForce, request.overrides);

  const entries = [...inForce];
  return {
    config: assemble(inForce, request),
    origins: new Map(entries.map(([path, { origin }]) => [path, origin])),
    written: new Map(entries.map(([path, { key, written }]) => [path, masked(key, written)])),
    skipped,
  };
}

function masked(key: KeyName, written: unknown): unknown {
  const { kind } = typedKeys[key];
  return kind.mask === undefined ? written : kind.mask(written);
}

async function applyFiles(inForce: InForce, request: ConfigRequest): Promise<string[]> {
  const userFile = userConfigFile(request);
  const projectFile = projectConfigFile(request.root);
  if (userFile !== undefined) put(inForce, await readConfigFile(userFile, userFile), `user ${userFile}`);
  // With KODA_HOME in the project both are one file, and it is the user's.
  if (projectFile === userFile) return [];
  return applyProject(inForce, await readConfigFile(projectFile, projectConfigName));
}

/** A project file comes with somebody's repository: what it says holds only where that allows less than before. */
function applyProject(inForce: InForce, settings: readonly Setting[]): string[] {
  const skipped = new Set<string>();
  const origin = `project ${projectConfigName}` as const;
  for (const setting of settings) {
    if (keys[setting.key].kind.denies) add(inForce, setting, origin);
    else if (isNarrower(setting, inForce)) put(inForce, [setting], origin);
    else skipped.add(`${projectConfigName}: ${nameOfSkipped(setting)}`);
  }
  return [...skipped];
}

function isNarrower({ key, path, written }: Setting, inForce: InForce): boolean {
  if ("usersOnly" in keys[key]) return false;
  return keys[key].kind.narrows(written, inForce.get(formatPath(path))?.written);
}

/** All that a file says of providers is skipped or none of it, so one word names it. */
function nameOfSkipped({ key, path }: Setting): string {
  return key.includes("*") ? (path[0] ?? key) : key;
}
