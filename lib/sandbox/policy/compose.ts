import { type Network, networks } from "../../config/config.ts";
import { isBelow } from "../../files/path.ts";
import { type Policy, type ResourceLimits, unique } from "./policy.ts";
import { isHidden, writeRefusal } from "./reach.ts";

/**
 * The policy of a part of a run: what both allow, whatever the child says. Reading is decided by the deepest rule above
 * a path, so between two places that either policy names nothing changes: it is enough to ask both at those places.
 */
export function compose(parent: Policy, child: Policy): Policy {
  const both = [parent, child] as const;
  const named = unique(both.flatMap(({ hide, show, write }) => [...hide, ...show, ...write]));
  const isReadable = (path: string) => both.every((policy) => !isHidden(path, policy));
  const hide = unique([...parent.hide, ...child.hide, ...named.filter((path) => !isReadable(path))]);
  const privateTmp = parent.privateTmp || child.privateTmp;
  const isWritable = (path: string) => both.every((policy) => writeRefusal(path, policy) === undefined);
  return {
    root: child.root,
    home: parent.home,
    // By the name /tmp no rule about a path holds: it cannot be just any place that both may write.
    tmp: isBelow(child.tmp, parent.tmp) && isReadable(child.tmp) && isWritable(child.tmp) ? child.tmp : parent.tmp,
    privateTmp,
    write: deeperRoots(parent, child).filter(isWritable),
    readonly: unique([...parent.readonly, ...child.readonly]),
    ...((parent.held ?? child.held) && { held: unique([...(parent.held ?? []), ...(child.held ?? [])]) }),
    repositories: parent.repositories,
    hide,
    // A tier may hide more than the policies say.
    show: named.filter(isReadable),
    copies: parent.copies.filter(({ at }) => child.copies.some((copy) => copy.at === at)),
    // It opens the `.git` of the root, which is not the same one in another root.
    allowGit: parent.allowGit && child.allowGit && parent.root === child.root,
    allowConfig: parent.allowConfig && child.allowConfig,
    network: stricter(parent.network, child.network),
    limits: lowest(parent.limits, child.limits),
    ...(parent.owners && { owners: parent.owners }),
  };
}

/** Both allow a root of one that lies below a root of the other, unless one of them protects that very place. */
function deeperRoots(parent: Policy, child: Policy): readonly string[] {
  const below = (paths: readonly string[], roots: readonly string[]) =>
    paths.filter((path) => roots.some((root) => isBelow(path, root)));
  return unique([...below(parent.write, child.write), ...below(child.write, parent.write)]);
}

function stricter(a: Network, b: Network): Network {
  return networks.indexOf(a) < networks.indexOf(b) ? a : b;
}

const limitNames = ["cpuSeconds", "memoryBytes", "openFiles", "processes"] as const;

function lowest(a: ResourceLimits, b: ResourceLimits): ResourceLimits {
  return limitNames.reduce<ResourceLimits>((limits, name) => {
    const limit = Math.min(a[name] ?? Infinity, b[name] ?? Infinity);
    return limit === Infinity ? limits : { ...limits, [name]: limit };
  }, {});
}
