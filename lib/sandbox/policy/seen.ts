import { isBelow } from "../../files/path.ts";
import type { Policy } from "./policy.ts";
import { hostTmp, isHidden } from "./reach.ts";

type Tmp = Pick<Policy, "privateTmp" | "tmp" | "write" | "show">;

/**
 * The host's path of one that is named as commands see it. With a `/tmp` of their own they find the run's directory
 * there, and file tools take the same names for the same files: what a command left in `/tmp/out` can be read by that
 * name. Roots that lie in the host's `/tmp` are put in their own place, and so mean themselves.
 */
export function hostPath(seen: string, { privateTmp, tmp, write, show }: Tmp): string {
  const isOwn = privateTmp && isBelow(seen, hostTmp) && ![...write, ...show].some((root) => isBelow(seen, root));
  return isOwn ? tmp + seen.slice(hostTmp.length) : seen;
}

/** Commands find at this path what the host has there. */
export function isSeen(path: string, policy: Policy): boolean {
  return !isHidden(path, policy) && hostPath(path, policy) === path;
}

/** How commands call what lies there. */
export function seenPath(real: string, { privateTmp, tmp }: Pick<Policy, "privateTmp" | "tmp">): string {
  return privateTmp && isBelow(real, tmp) ? hostTmp + real.slice(tmp.length) : real;
}
