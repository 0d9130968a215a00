import { realpathSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { KodaError, reasonOf } from "../errors.ts";
import { realPaths } from "../files/real.ts";
import type { Allowance } from "./resume.ts";

/** What the configuration and the flags ask for, by the real paths that rules are compared with later on. */
export function wantedOf({ mode, sandbox, egress }: Config): Allowance {
  const real = (paths: readonly string[]) => [...new Set(paths.flatMap(realPaths))];
  return {
    mode,
    write: sandbox.write.map(realRoot),
    read: real(sandbox.read),
    hide: real(sandbox.hide),
    allowGit: sandbox.allowGit,
    egress,
  };
}

/** A writable root has to be there: what a sandbox opens is a directory and not a name. */
function realRoot(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new KodaError("usage", `Cannot make "${path}" writable: ${reasonOf(error)} (--allow-write, sandbox.write)`);
  }
}
