import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { KodaError } from "../../errors.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { isHidden, writeRefusal } from "../../sandbox/policy/reach.ts";
import { realPaths } from "../../files/real.ts";

/**
 * A directory that no command can write to, for files that koda will use with the user's rights. The run's temporary
 * directory does not qualify when TMPDIR lies in the project; koda's data directory does, since it is hidden.
 */
export function ownPlace(policy: Policy, dataDirectory: string | undefined, { lasting }: { lasting: boolean }): string {
  const state = dataDirectory === undefined ? [] : [dataDirectory];
  const places = lasting ? [...state, tmpdir()] : [dirname(policy.tmp), ...state];
  const found = places.map(realPath).find((place) => isOutOfReach(place, policy));
  if (found !== undefined) return found;
  const message = `No directory is safe from commands: they may write to "${tmpdir()}". Set TMPDIR or KODA_HOME to a directory outside of the writable roots.`;
  throw new KodaError("config", message);
}

function realPath(path: string): string {
  return realPaths(path).at(-1) ?? path;
}

function isOutOfReach(real: string, policy: Policy): boolean {
  return isHidden(real, policy) || writeRefusal(real, policy)?.kind === "outside";
}
