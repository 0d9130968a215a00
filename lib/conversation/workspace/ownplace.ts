import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { KodaError } from "../../errors.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { isHidden, writeRefusal } from "../../sandbox/policy/reach.ts";
import { realPaths } from "../../files/real.ts";

/**
 * A directory in which no command changes anything: for what koda itself will use with the user's rights. The run's own
 * directory is none where temporary files lie in the project; koda's own state is, being hidden even there.
 */
export function ownPlace(policy: Policy, dataDirectory: string | undefined, { lasting }: { lasting: boolean }): string {
  const state = dataDirectory === undefined ? [] : [dataDirectory];
  const places = lasting ? [...state, tmpdir()] : [dirname(policy.tmp), ...state];
  const found = places.map(realPath).find((place) => isOutOfReach(place, policy));
  if (found !== undefined) return found;
  const message = `Cannot keep anything from the commands: they may write in "${tmpdir()}". Set TMPDIR or KODA_HOME to a directory where they may not.`;
  throw new KodaError("config", message);
}

function realPath(path: string): string {
  return realPaths(path).at(-1) ?? path;
}

function isOutOfReach(real: string, policy: Policy): boolean {
  return isHidden(real, policy) || writeRefusal(real, policy)?.kind === "outside";
}
