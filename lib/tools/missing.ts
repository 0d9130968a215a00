import { dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { HeldDirectory } from "../files/held.ts";
import { isBelow } from "../files/path.ts";
import { nearest } from "../nearest.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { resolvePath, shownPath, type ResolvedPath } from "../trust/path.ts";

/** The answer to a model that named a missing file: what it may have meant, or where its path ends. */
export function missingText(place: ResolvedPath, policy: Policy): string {
  const isOwnTmp = policy.privateTmp && isBelow(place.real, policy.tmp);
  return isOwnTmp ? `${absenceOf(place, policy)} ${ownTmp}` : absenceOf(place, policy);
}

const ownTmp = "This run has a /tmp of its own: what the user has there is not in it, unless --allow-read names it.";

function absenceOf({ real, shown }: ResolvedPath, policy: Policy): string {
  const parent = resolvePath(dirname(real), policy);
  if (parent.kind !== "directory") return `"${shown}" does not exist: there is no "${firstMissing(real, policy)}".`;
  const names = similarNames(parent.real, real.slice(dirname(real).length).replace("/", ""));
  if (names.length === 0) return `"${shown}" does not exist.`;
  const meant = names.map((name) => `"${shownPath(join(parent.real, name), policy)}"`);
  return `"${shown}" does not exist. Did you mean ${meant.join(" or ")}?`;
}

function firstMissing(real: string, policy: Policy): string {
  const parent = dirname(real);
  return resolvePath(parent, policy).kind === "missing" ? firstMissing(parent, policy) : shownPath(real, policy);
}

const mostNames = 3;

/** The nearest spelling first, then what has the same name with another ending. */
function similarNames(directory: string, name: string): string[] {
  const names = namesIn(directory);
  const [stem = ""] = name.split(".");
  const spelled = nearest(name, names);
  const related = stem === "" ? [] : names.filter((other) => other.split(".")[0] === stem);
  return [...new Set([...(spelled === undefined ? [] : [spelled]), ...related])].slice(0, mostNames);
}

/** A directory that cannot be listed has no names to suggest. */
function namesIn(path: string): string[] {
  const names = unlessRefused(() => {
    using directory = HeldDirectory.open(path);
    return directory.names();
  });
  return names ?? [];
}
