import { liesBelow } from "./decide.ts";
import type { ConnectRules, Name } from "./rules.ts";

/**
 * The place on the host of a path that a command names, if that is not simply in its parent: a directory with another
 * name, a root that keeps its own name within such a directory, and what lies beside that root.
 */
export function placeOf(path: string, { names, sockets }: Pick<ConnectRules, "names" | "sockets">): string | undefined {
  const name = names.find(({ from }) => path === from || liesBelow(path, from));
  if (name === undefined) return undefined;
  if (path === name.from) return name.to;
  if (leadsToRoot(path, name, sockets)) return path;
  const parent = path.slice(0, path.lastIndexOf("/"));
  return leadsToRoot(parent, name, sockets) && !sockets.some((root) => liesBelow(path, root))
    ? `${name.to}${path.slice(name.from.length)}`
    : undefined;
}

/** A path within a renamed directory that is one of the roots, or on the way to one. */
function leadsToRoot(path: string, { from }: Name, sockets: readonly string[]): boolean {
  return liesBelow(path, from) && sockets.some((root) => root === path || liesBelow(root, path));
}
