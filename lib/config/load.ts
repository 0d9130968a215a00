import { assemble } from "./assemble.ts";
import type { LoadedConfig } from "./config.ts";
import { readConfigFile } from "./configfile.ts";
import { appendEntry, defaultValues, setEntries, type EffectiveValues } from "./effective.ts";
import type { ConfigEntry } from "./entries.ts";
import { formatPath } from "./keypath.ts";
import { applyEnvironment, applyFlags, applySet, type Overrides } from "./overrides.ts";
import { projectConfigFile, projectConfigName, userConfigFile, type UserEnvironment } from "./paths.ts";
import { keys, typedKeys, type KeyName } from "./schema.ts";

type ConfigRequest = UserEnvironment & {
  /** The project's root, absolute: relative paths start here. */
  readonly root: string;
  /** Read neither the user's file nor the project's. */
  readonly bare: boolean;
  /** The `KEY=VALUE` of every `--config`. */
  readonly sets: readonly string[];
  /** The values of other flags. */
  readonly overrides: Overrides;
};

/** Lowest precedence first: default, user, project, environment, flag. */
export async function loadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const effective = defaultValues();
  const skipped = request.bare ? [] : await applyFiles(effective, request);
  applyEnvironment(effective, request.env);
  for (const set of request.sets) applySet(effective, set);
  applyFlags(effective, request.overrides);

  const entries = [...effective];
  return {
    config: assemble(effective, request),
    origins: new Map(entries.map(([path, { origin }]) => [path, origin])),
    display: new Map(entries.map(([path, { key, raw }]) => [path, masked(key, raw)])),
    skipped,
  };
}

function masked(key: KeyName, raw: unknown): unknown {
  const { mask } = typedKeys[key].type;
  return mask === undefined ? raw : mask(raw);
}

async function applyFiles(effective: EffectiveValues, request: ConfigRequest): Promise<string[]> {
  const userFile = userConfigFile(request);
  const projectFile = projectConfigFile(request.root);
  if (userFile !== undefined) setEntries(effective, await readConfigFile(userFile, userFile), `user ${userFile}`);
  // KODA_HOME may be the project's .koda; the file is the user's then.
  if (projectFile === userFile) return [];
  return applyProject(effective, await readConfigFile(projectFile, projectConfigName));
}

/** A project file comes with someone's repository, so only values that allow less than before are applied. */
function applyProject(effective: EffectiveValues, entries: readonly ConfigEntry[]): string[] {
  const skipped = new Set<string>();
  const origin = `project ${projectConfigName}` as const;
  for (const entry of entries) {
    if (keys[entry.key].type.denies) appendEntry(effective, entry, origin);
    else if (isNarrower(entry, effective)) setEntries(effective, [entry], origin);
    else skipped.add(`${projectConfigName}: ${nameOfSkipped(entry)}`);
  }
  return [...skipped];
}

function isNarrower({ key, path, raw }: ConfigEntry, effective: EffectiveValues): boolean {
  if ("userOnly" in keys[key]) return false;
  return typedKeys[key].type.narrows?.(raw, effective.get(formatPath(path))?.raw) ?? false;
}

/** A project's providers are ignored as a whole, so one word names them. */
function nameOfSkipped({ key, path }: ConfigEntry): string {
  return key.includes("*") ? (path[0] ?? key) : key;
}
