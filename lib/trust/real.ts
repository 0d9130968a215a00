import { normalize } from "node:path";
import { walk } from "./walk.ts";

/**
 * The real paths that a rule about a path is about: its own place, and where it leads when it is a symlink, so that
 * neither the link nor what it points to is left out. What does not exist yet is kept as it was named.
 */
export function realPaths(path: string): readonly string[] {
  // Where a walk fails it ends on the way, and a rule about that place would be about too much.
  const own = walk(path, { follow: false });
  if (own.fault !== undefined) return [normalize(path)];
  const goal = walk(path, { follow: true });
  return goal.fault !== undefined || goal.real === own.real ? [own.real] : [own.real, goal.real];
}
