import { errnoOf } from "../../errors.ts";
import { HeldDirectory, Replaced } from "../../files/held.ts";
import { ancestors, folded, isBelow } from "../../files/path.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { hiddenFrom, isHidden } from "../../sandbox/policy/reach.ts";
import { shownPath } from "../../trust/path.ts";
import { isRepository, marksIn, rulesAbove } from "./rules.ts";

/** Where a search looks, as plain data: it is sent to a worker. Every path in it is real. */
export type Scope = {
  /** The directory that the search begins in. */
  base: string;
  /** Only this file of it, whatever the ignore rules say: it was asked for by name. */
  file?: string;
  /** What stands before a path relative to `base` when it is shown: nothing, `src/`, `/usr/include/`. */
  prefix: string;
  /** Where the ignore rules begin that reach into `base`: itself when none come from above. */
  top: string;
  /** Is `top` a repository? */
  inRepository: boolean;
  /** What lies in `base` and is hidden from this run, or is no file system to be searched: not even looked at. */
  closed: readonly string[];
};

/** Reading in these can block for ever, wake up drivers, or show the memory of other processes. */
const kernelTrees = ["/proc", "/sys"];

export function scopeOf(base: string, policy: Policy): Scope {
  const { top, inRepository } = startOfRules(base, policy);
  const shown = shownPath(base, policy);
  return {
    base,
    prefix: shown === "." ? "" : shown === "/" ? shown : `${shown}/`,
    top,
    inRepository,
    closed: [...hiddenFrom(policy).filter((path) => isHidden(path, policy)), ...kernelTrees].filter((path) =>
      isBelow(folded(path), folded(base)),
    ),
  };
}

/** Held, so that the search is in the directory that was judged, and not in what a command put in its place. */
export function holdBase({ base }: Scope): HeldDirectory | undefined {
  try {
    return HeldDirectory.open(base);
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof Replaced)) throw error;
    return undefined;
  }
}

export function isKernelTree(path: string): boolean {
  return kernelTrees.some((tree) => isBelow(path, tree));
}

/**
 * Rules reach down from the repository around `base`, or outside of one from the project. A directory that they ignore
 * was named on purpose (`node_modules/zod`), so in it only its own rules count.
 */
function startOfRules(base: string, policy: Policy): Pick<Scope, "top" | "inRepository"> {
  const repository = ancestors(base).find((directory) => isRepository(marksIn(directory)));
  const top = repository ?? (isBelow(base, policy.root) ? policy.root : base);
  return rulesAbove(base, top) === undefined
    ? { top: base, inRepository: repository === base }
    : { top, inRepository: repository !== undefined };
}
