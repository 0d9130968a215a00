import { homedir } from "node:os";
import type { LoadedConfig } from "../lib/config/config.ts";
import { loadConfig } from "../lib/config/load.ts";
import type { UserEnvironment } from "../lib/config/paths.ts";
import { rootOf } from "./basesettings.ts";

/** The current directory as a project, for commands without -C. */
export type CurrentProject = UserEnvironment & { readonly root: string; readonly isTrusted: boolean };

export function currentProject({ trustProject }: { trustProject: boolean }): CurrentProject {
  return { env: process.env, home: homedir(), root: rootOf(undefined), isTrusted: trustProject };
}

/** The configuration of a run in this project. */
export async function projectConfig(project: CurrentProject): Promise<LoadedConfig> {
  return await loadConfig({ ...project, bare: false, sets: [], overrides: {} });
}
