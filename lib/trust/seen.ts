import { isBelow } from "../files/path.ts";
import { type Lookup, lookUp } from "../files/walk.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { hostTmp } from "../sandbox/policy/reach.ts";
import { hostPath } from "../sandbox/policy/seen.ts";

/** Looks at a path as commands see it; on the way to a root in `/tmp` there are directories, whatever the host has. */
export function lookAsSeen(policy: Policy): (path: string) => Lookup {
  if (!policy.privateTmp) return lookUp;
  const roots = [...policy.write, ...policy.show];
  const isOnTheWay = (path: string) =>
    isBelow(path, hostTmp) && roots.some((root) => root !== path && isBelow(root, path));
  return (path) => (isOnTheWay(path) ? { kind: "directory" } : lookUp(hostPath(path, policy)));
}
