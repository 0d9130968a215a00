import { isAbsolute, join } from "node:path";
import { KodaError } from "../errors.ts";

/** Where koda is told where things are: the environment and the home directory (empty when there is none). */
export type Places = { readonly env: Readonly<Record<string, string | undefined>>; readonly home: string };

/** koda's own state: the database lies here, and commands may neither read nor write it. */
export function dataDirectory(places: Places): string {
  const directory = findDataDirectory(places);
  if (directory !== undefined) return directory;
  throw new KodaError(
    "config",
    "Cannot tell where sessions are kept: none of KODA_HOME, XDG_DATA_HOME and HOME is an absolute path. " +
      "Set one of them, or keep nothing with --ephemeral.",
  );
}

/** Undefined where nothing says where it is, which is no error for a run that keeps nothing. */
export function findDataDirectory(places: Places): string | undefined {
  return kodaHome(places) ?? baseDirectory(places, "XDG_DATA_HOME", ".local/share");
}

export function databaseFile(places: Places): string {
  return join(dataDirectory(places), "koda.db");
}

/** Undefined where there is no home to look in: then there is no user configuration. */
export function configDirectory(places: Places): string | undefined {
  return kodaHome(places) ?? baseDirectory(places, "XDG_CONFIG_HOME", ".config");
}

export function userConfigFile(places: Places): string | undefined {
  const directory = configDirectory(places);
  return directory && join(directory, "config.json");
}

/** How messages call it; it lies in the project's root, which is the directory that the run works in. */
export const projectConfigName = ".koda/config.json";

export function projectConfigFile(root: string): string {
  return join(root, projectConfigName);
}

/** A relative one would move state and configuration with every change of the directory, so it is refused. */
function kodaHome({ env }: Places): string | undefined {
  const given = env.KODA_HOME;
  if (given === undefined || given === "" || isAbsolute(given)) return given || undefined;
  throw new KodaError("config", `Cannot use KODA_HOME "${given}": expected an absolute path.`);
}

/** The XDG specification: a relative path in its variables is invalid, and read as if the variable were not set. */
function baseDirectory({ env, home }: Places, variable: string, fallback: string): string | undefined {
  const base = env[variable] ?? "";
  if (isAbsolute(base)) return join(base, "koda");
  return isAbsolute(home) ? join(home, fallback, "koda") : undefined;
}
