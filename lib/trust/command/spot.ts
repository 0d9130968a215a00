import { posix } from "node:path";
import { isBelow } from "../../files/path.ts";
import { hostTmp, protectedName } from "../../sandbox/policy/reach.ts";
import { hostPath } from "../../sandbox/policy/seen.ts";
import type { ShellScope, CommandSurroundings } from "./scope.ts";
import type { Text } from "./text.ts";

/** A path that is known: `path`, or when that is not exact, a place below it whose name begins with `prefix`. */
export type Spot = { readonly path: string; readonly prefix: string; readonly exact: boolean };

/**
 * Undefined when it may lead anywhere. Paths are taken by their letters: a symlink in the way is the sandbox's
 * concern.
 */
export function spotsOf(text: Text, { cwds }: Pick<ShellScope, "cwds">): readonly Spot[] | undefined {
  if (text.head.startsWith("/")) return [below({ path: "/", prefix: "/", exact: true }, text)];
  if (text.head === "" && text.rest === "wild") return undefined;
  return cwds?.map((cwd) => below(cwd, text));
}

function below(directory: Spot, { head, rest }: Text): Spot {
  // From a place that is only roughly known `..` cannot be followed; such paths mostly come back to where they began.
  if (!directory.exact) return directory;
  if (rest === "none") {
    const path = posix.resolve(directory.path, head);
    return { path, prefix: path, exact: true };
  }
  const end = head.lastIndexOf("/") + 1;
  const path = posix.resolve(directory.path, head.slice(0, end));
  return { path, prefix: (path === "/" ? "/" : `${path}/`) + head.slice(end), exact: false };
}

/** The spot's name, for people: `/tmp/x`, or `/tmp/x*`. */
export function spotName({ path, prefix, exact }: Spot): string {
  return exact ? path : `${prefix}*`;
}

/** Why nothing may be written there, in the words that a rule is named with; undefined when it may. */
export function whySpotOutside(spot: Spot, around: CommandSurroundings): string | undefined {
  const { write, readonly = [], show = [], tmp = hostTmp, privateTmp = false } = around;
  const place = hostPath(spot.path, { privateTmp, tmp, write, show });
  const roots = write.filter((root) => isBelow(place, root));
  if (roots.length === 0) return spotName(spot);
  const isProtected =
    roots.some((root) => protectedName(place.slice(root.length)) !== undefined) ||
    readonly.some((path) => isBelow(place, path));
  return isProtected ? `${spotName(spot)} is read-only` : undefined;
}
