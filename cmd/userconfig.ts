import { homedir } from "node:os";
import { batchesDirectory } from "../lib/config/paths.ts";
import { loadConfig } from "../lib/config/load.ts";
import type { Config } from "../lib/config/config.ts";

/** The user's own configuration, which the `koda exec` of each task reads, without that of a project. */
export async function loadUserConfig(): Promise<Config> {
  const user = { env: process.env, home: homedir() };
  const request = { ...user, root: batchesDirectory(user), bare: false, isTrusted: false, sets: [], overrides: {} };
  return (await loadConfig(request)).config;
}
