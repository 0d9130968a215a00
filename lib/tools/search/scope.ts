import { unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";
import { ancestors, folded, isBelow } from "../../files/path.ts";
import type { Policy } from "../../sandbox/policy/policy.ts";
import { hiddenFrom, isHidden } from "../../sandbox/policy/reach.ts";
import { shownPath } from "../../trust/path.ts";
import { isRepository, marksIn, rulesAbove } from "./rules.ts";

/** The part of the file system that is searched. Every path in it is real. */
export type SearchScope = {
  /** The directory that the search begins in. */
  base: string;
  /** Only this file of it, whatever the ignore rules say: it was asked for by name. */
  file?: string;
  /** Put before a path relative to `base` when it is shown: nothing, `src/`, `/usr/include/`. */
  prefix: string;
  /** The directory where the ignore rules begin that reach into `base`: itself when none come from above. */
  top: string;
  /** Is `top` a repository? */
  inRepository: boolean;
  /** Rules reach into `base` from above though there is no repository. */
  rulesOutside: boolean;
  /** Directories in `base` that are not even looked at: hidden from this run, or not made of files. */
  closed: readonly string[];
};

/** Reading in these can block for ever, wake up drivers, or show the memory of other processes. */
const kernelTrees = ["/proc", "/sys"];

export function scopeOf(base: string, policy: Policy): SearchScope {
  const { top, inRepository } = startOfRules(base, policy);
  const shown = shownPath(base, policy);
  return {
    base,
    prefix: shown === "." ? "" : shown === "/" ? shown : `${shown}/`,
    top,
    inRepository,
    rulesOutside: top !== base && !inRepository,
    closed: [...hiddenFrom(policy).filter((path) => isHidden(path, policy)), ...kernelTrees].filter((path) =>
      isBelow(folded(path), folded(base)),
    ),
  };
}

/** Held, so that the search is in the directory that was judged, and not in what a command put in its place. */
export function holdBase({ base }: SearchScope): HeldDirectory | undefined {
  return unlessRefused(() => HeldDirectory.open(base));
}

export function isKernelTree(path: string): boolean {
  return kernelTrees.some((tree) => isBelow(path, tree));
}

/**
 * Rules reach down from the repository around `base`, or outside of one from the project. A directory that they ignore
 * was named on purpose (`node_modules/zod`), so in it only its own rules count.
 */
function startOfRules(base: string, policy: Policy): Pick<SearchScope, "top" | "inRepository"> {
  const repository = ancestors(base).find((directory) => isRepository(marksIn(directory)));
  const top = repository ?? (isBelow(base, policy.root) ? policy.root : base);
  return rulesAbove(base, top) === undefined
    ? { top: base, inRepository: repository === base }
    : { top, inRepository: repository !== undefined };
}
