import { realpathSync } from "node:fs";
import type { Config, EgressConfig, Mode } from "../config/config.ts";
import { KodaError, reasonOf } from "../errors.ts";
import { realPaths } from "../files/real.ts";
import type { Settings } from "./settings.ts";

/** Permissions of a run that a session records. All paths are real. */
export type Allowance = {
  mode: Mode;
  /** Writable roots in addition to the project. */
  write: readonly string[];
  /** Readable paths that are hidden by default. */
  read: readonly string[];
  /** Paths that are hidden in addition to the default. */
  hide: readonly string[];
  allowGit: boolean;
  allowConfig: boolean;
  egress: EgressConfig;
};

/** The allowance that the configuration and the flags ask for, with real paths. */
export function wantedOf({ mode, sandbox, egress }: Config): Allowance {
  const real = (paths: readonly string[]) => [...new Set(paths.flatMap(realPaths))];
  return {
    mode,
    write: sandbox.write.map(realRoot),
    read: real(sandbox.read),
    hide: real(sandbox.hide),
    allowGit: sandbox.allowGit,
    allowConfig: sandbox.allowConfig,
    egress,
  };
}

/** The directories below which commands may write, by all their names. */
export function writableRoots({ root, loaded: { config } }: Pick<Settings, "root" | "loaded">): string[] {
  return [root, ...config.sandbox.write].flatMap(realPaths);
}

/** A writable root must exist: a sandbox opens directories, not names. */
function realRoot(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new KodaError("usage", `Cannot make "${path}" writable: ${reasonOf(error)} (--allow-write, sandbox.write)`);
  }
}
