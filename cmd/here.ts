import { homedir } from "node:os";
import type { LoadedConfig } from "../lib/config/config.ts";
import { loadConfig } from "../lib/config/load.ts";
import type { UserEnvironment } from "../lib/config/paths.ts";
import { rootOf } from "./ground.ts";

/** Where a command was started that takes no flags about it. */
export type Here = UserEnvironment & { readonly root: string };

export function here(): Here {
  return { env: process.env, home: homedir(), root: rootOf(undefined) };
}

/** The configuration that a run in this directory would have. */
export async function loadHere(places: Here): Promise<LoadedConfig> {
  return await loadConfig({ ...places, bare: false, sets: [], overrides: {} });
}
