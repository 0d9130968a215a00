import { normalize } from "node:path";
import { followPath, lookUp, type Lookup } from "./walk.ts";

/**
 * The real paths that a rule about a path is about: its own place, and where it leads when it is a symlink, so that
 * neither the link nor what it points to is left out. What does not exist yet is kept as it was named.
 */
export function realPaths(path: string): readonly string[] {
  return realPathsBy(lookUp, path);
}

/** The same for the many paths of one policy: an entry on the way to several of them is looked up once. */
export function cachedRealPaths(): typeof realPaths {
  const entries = new Map<string, Lookup>();
  const cachedLook = (path: string): Lookup => {
    const found = entries.get(path) ?? lookUp(path);
    entries.set(path, found);
    return found;
  };
  return (path) => realPathsBy(cachedLook, path);
}

function realPathsBy(lookAt: typeof lookUp, path: string): readonly string[] {
  // A walk that fails ends on the way, and a rule about that place would be about too much.
  const own = followPath(path, { follow: false, look: lookAt });
  if (own.fault !== undefined) return [normalize(path)];
  if (own.kind !== "symlink") return [own.real];
  const goal = followPath(path, { follow: true, look: lookAt });
  return goal.fault === undefined ? [own.real, goal.real] : [own.real];
}
