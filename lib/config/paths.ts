import { dirname, isAbsolute, join } from "node:path";
import { KodaError } from "../errors.ts";

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The user's variables and home directory (empty when there is none): they decide where koda's files are. */
export type UserEnvironment = { readonly env: Env; readonly home: string };

export function databaseFile(user: UserEnvironment): string {
  const directory = findDataDirectory(user);
  if (directory !== undefined) return join(directory, "koda.db");
  throw new KodaError(
    "config",
    "Cannot find the directory for sessions: none of KODA_HOME, XDG_DATA_HOME and HOME is an absolute path. " +
      "Set one of them, or store nothing with --ephemeral.",
  );
}

/** The files that turns changed, as they were before. */
export function snapshotDirectory(database: string): string {
  return join(dirname(database), "snapshots");
}

/**
 * The work trees of tasks. Not below the data directory, where nothing is open to commands, but beside it.
 */
export function batchesDirectory(user: UserEnvironment): string {
  const own = kodaHome(user);
  const directory = own === undefined ? baseDirectory(user, "XDG_CACHE_HOME", ".cache") : undefined;
  if (own !== undefined) return `${own.replace(/\/+$/, "")}-batches`;
  if (directory !== undefined) return join(directory, "batches");
  throw new KodaError(
    "config",
    "Cannot find the directory for work trees: none of KODA_HOME, XDG_CACHE_HOME and HOME is an absolute path. Set one of them.",
  );
}

/**
 * The directory of koda's own state, which commands may neither read nor write. Undefined when no variable names it,
 * which is no error for a run that stores nothing.
 */
export function findDataDirectory(user: UserEnvironment): string | undefined {
  return kodaHome(user) ?? baseDirectory(user, "XDG_DATA_HOME", ".local/share");
}

/** Undefined without a home directory: then there is no user configuration. */
export function configDirectory(user: UserEnvironment): string | undefined {
  return kodaHome(user) ?? baseDirectory(user, "XDG_CONFIG_HOME", ".config");
}

export function userConfigFile(user: UserEnvironment): string | undefined {
  const directory = configDirectory(user);
  return directory && configFileIn(directory);
}

export function configFileIn(directory: string): string {
  return join(directory, "config.json");
}

/** Relative to the project's root, and what messages call it. */
export const projectConfigName = ".koda/config.json";

/** The project's MCP servers, in the format of other programs. */
export const projectServersName = ".mcp.json";

export function projectConfigFile(root: string): string {
  return join(root, projectConfigName);
}

/** A relative KODA_HOME would be another directory in every project, so it is refused. */
function kodaHome({ env }: UserEnvironment): string | undefined {
  const given = env.KODA_HOME;
  if (given === undefined || given === "" || isAbsolute(given)) return given || undefined;
  throw new KodaError("config", `Cannot use KODA_HOME "${given}": expected an absolute path.`);
}

/** By the XDG specification a relative path is invalid and ignored. */
function baseDirectory({ env, home }: UserEnvironment, variable: string, fallback: string): string | undefined {
  const base = env[variable] ?? "";
  if (isAbsolute(base)) return join(base, "koda");
  return isAbsolute(home) ? join(home, fallback, "koda") : undefined;
}
