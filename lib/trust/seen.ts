import { hostTmp, isBelow } from "../sandbox/reach.ts";
import type { Policy } from "../sandbox/policy.ts";
import { type Found, look } from "./walk.ts";

type Tmp = Pick<Policy, "privateTmp" | "tmp" | "write" | "show">;

/**
 * Where a path lies that is named as commands see it. With a `/tmp` of their own they find the run's directory there,
 * and file tools take the same names for the same files: what a command left in `/tmp/out` can be read by that name.
 * Roots that lie in the host's `/tmp` are put in their own place, and so mean themselves.
 */
export function hostPath(seen: string, { privateTmp, tmp, write, show }: Tmp): string {
  const isOwn = privateTmp && isBelow(seen, hostTmp) && ![...write, ...show].some((root) => isBelow(seen, root));
  return isOwn ? tmp + seen.slice(hostTmp.length) : seen;
}

/** How commands call what lies there. */
export function seenPath(real: string, { privateTmp, tmp }: Pick<Policy, "privateTmp" | "tmp">): string {
  return privateTmp && isBelow(real, tmp) ? hostTmp + real.slice(tmp.length) : real;
}

/** Looks at a path as commands see it; on the way to a root in `/tmp` there are directories, whatever the host has. */
export function lookAsSeen(policy: Policy): (path: string) => Found {
  if (!policy.privateTmp) return look;
  const roots = [...policy.write, ...policy.show];
  const isOnTheWay = (path: string) =>
    isBelow(path, hostTmp) && roots.some((root) => root !== path && isBelow(root, path));
  return (path) => (isOnTheWay(path) ? { kind: "directory" } : look(hostPath(path, policy)));
}
