import { isBelow } from "../files/path.ts";
import { type Found, look } from "../files/walk.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hostTmp } from "../sandbox/policy/reach.ts";
import { hostPath } from "../sandbox/policy/seen.ts";

/** Looks at a path as commands see it; on the way to a root in `/tmp` there are directories, whatever the host has. */
export function lookAsSeen(policy: Policy): (path: string) => Found {
  if (!policy.privateTmp) return look;
  const roots = [...policy.write, ...policy.show];
  const isOnTheWay = (path: string) =>
    isBelow(path, hostTmp) && roots.some((root) => root !== path && isBelow(root, path));
  return (path) => (isOnTheWay(path) ? { kind: "directory" } : look(hostPath(path, policy)));
}
