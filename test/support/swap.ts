import { renameSync, symlinkSync } from "node:fs";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";

/**
 * A policy that, once it has been asked about a path, puts a symlink in that path's place: the moment between a check
 * and the use of what was checked, at will.
 */
export function swapOnce(policy: Policy, path: string, target: string): Policy {
  let isDone = false;
  return {
    ...policy,
    get readonly() {
      if (!isDone) {
        isDone = true;
        renameSync(path, `${path}.before`);
        symlinkSync(target, path);
      }
      return policy.readonly;
    },
  };
}
