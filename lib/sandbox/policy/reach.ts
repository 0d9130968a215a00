import { folded, isBelow } from "../../files/path.ts";
import type { Policy } from "./policy.ts";
import { isHarmlessEntry, toolConfigIn } from "./toolconfig.ts";

/**
 * The verdict of a policy on one real path: file tools and `compose` ask here, so both mean the same by the same lists.
 * The deepest rule wins: a hidden directory inside of a project stays hidden, and one may work inside of a hidden one.
 */
export function isHidden(real: string, policy: Policy): boolean {
  return isHiddenBy(real, { hide: refusalsOf(policy).hide, show: policy.show, write: policy.write });
}

/** The same by single lists, of which `hide` is folded already. */
export function isHiddenBy(real: string, { hide, show, write }: Pick<Policy, "hide" | "show" | "write">): boolean {
  // Of rules about the very same path `show` wins against `hide`, and `hide` against `write`.
  const hidden = deepestAbove(folded(real), hide);
  return hidden > deepestAbove(real, show) && hidden >= deepestAbove(real, write) && hidden !== nowhere;
}

export type WriteRefusal =
  | { kind: "outside" | "readonly" | "kernel" }
  | { kind: "protected"; name: string }
  /** Of the file or directory that tells other tools what to run. */
  | { kind: "config"; path: string }
  /** Of a directory of another user's, which `--allow-write` opens if it is not itself a root. */
  | { kind: "owner"; directory: string; owner: number; canOpen: boolean };

/** Why a path may not be written, if so; whether it is hidden is another question. */
export function writeRefusal(real: string, policy: Policy): WriteRefusal | undefined {
  const roots = policy.write.filter((root) => isBelow(real, root));
  if (roots.length === 0) return { kind: "outside" };
  const name = roots.map((root) => protectedName(real.slice(root.length))).find((found) => found !== undefined);
  if (name !== undefined) return { kind: "protected", name };
  const config = configAbove(real, policy);
  if (config !== undefined) return { kind: "config", path: config };
  const isReadonly = deepestAbove(folded(real), refusalsOf(policy).readonly) !== nowhere;
  if (isReadonly || deepestAbove(real, policy.repositories.paths) !== nowhere) return { kind: "readonly" };
  // In a project at `/` these lie in a writable root, and writing there changes the machine.
  return isInKernelTree(real) && !roots.some(isInKernelTree) ? { kind: "kernel" } : undefined;
}

/** The configuration of another tool that keeps a path from being written, by its name or because it was found. */
function configAbove(real: string, policy: Policy): string | undefined {
  if (policy.allowConfig) return undefined;
  const named = configAt(real, policy);
  const [entry = ""] = named === undefined ? [] : real.slice(named.length + 1).split("/");
  if (named !== undefined && !isHarmlessEntry(named, entry)) return named;
  return policy.repositories.config?.find((path) => isBelow(real, path));
}

/** The configuration of another tool that a path names or leads through: in no directory of the run's own. */
export function configAt(real: string, { write, tmp }: Pick<Policy, "write" | "tmp">): string | undefined {
  if (isBelow(real, tmp)) return undefined;
  for (const root of write) {
    const inside = isBelow(real, root) ? toolConfigIn(real.slice(root.length)) : undefined;
    if (inside !== undefined) return root + inside;
  }
  return undefined;
}

/** Every sandbox replaces these, whatever the host has there. */
export function isInKernelTree(path: string): boolean {
  return ["/proc", "/sys", "/dev"].some((tree) => isBelow(path, tree));
}

/** Directories that decide which code git and koda itself will run. */
const protectedNames = /(?:^|\/)(\.git|\.koda)(?:\/|$)/;

/** The one of them that a path names or leads through. */
export function protectedName(path: string): string | undefined {
  return protectedNames.exec(folded(path))?.[1];
}

/** How deep the deepest of the directories lies that hold the path. Not its length, which folding may change. */
function deepestAbove(path: string, directories: readonly string[]): number {
  return directories.reduce(
    (deepest, directory) => (isBelow(path, directory) ? Math.max(deepest, depthOf(directory)) : deepest),
    nowhere,
  );
}

const nowhere = -1;

function depthOf(path: string): number {
  return path === "/" ? 0 : path.split("/").length - 1;
}

/** Commands have their own directories in these places, so no rule keeps them away; file tools would see the host's. */
export const sharedMemory = "/dev/shm";
export const hostTmp = "/tmp";

type Refusals = Pick<Policy, "hide" | "readonly">;

/** Deleting a tree asks about each of its entries, so the lists are folded only once. */
const refusals = new WeakMap<Policy, Refusals>();

function refusalsOf(policy: Policy): Refusals {
  const known = refusals.get(policy);
  if (known !== undefined) return known;
  const made = { hide: hiddenFrom(policy).map(folded), readonly: policy.readonly.map(folded) };
  refusals.set(policy, made);
  return made;
}

/** Everything that file tools do not look at: what the policy hides, and what commands have another one of. */
export function hiddenFrom({ hide, privateTmp }: Pick<Policy, "hide" | "privateTmp">): readonly string[] {
  return [...hide, sharedMemory, ...(privateTmp ? [hostTmp] : [])];
}
