import { realpathSync } from "node:fs";
import { unlessRefused } from "../../../errors.ts";
import { isBelow, isInFolded } from "../../../files/path.ts";
import { kernelMounts, look } from "../../layout/host.ts";
import type { Policy } from "../../policy/policy.ts";
import { isHidden } from "../../policy/reach.ts";
import { listing, reading, type Restriction, usingDevice, writing } from "../../program/steps/landlock.ts";
import { devices } from "../access.ts";
import { Unavailable } from "../unavailable.ts";
import { everythingExcept, isThere } from "./except.ts";

/** A command's reach in the file system, as data: trees and files that it can read, and those that it can write too. */
export type Reach = { readable: readonly string[]; writable: readonly string[] };

/** Other tiers replace these directories: here they are the host's, with files of the user's other programs. */
const shared = ["/dev", "/dev/shm", "/tmp"] as const;

/** Throws Unavailable where Landlock cannot hold what the policy says. */
export function reachOf(policy: Policy): Reach {
  const writable = outermost(policy.write.filter((root) => !isHidden(root, policy)));
  refuseHiddenInside(writable, policy);
  refuseHeldInside(writable, policy);
  refuseKernelInside(writable);
  const copies = policy.copies.flatMap(({ at, copy, isWhole }) => (isWhole ? [copy, at] : [copy]));
  const hide = [...policy.hide, ...shared.flatMap(realPath)].filter((path) => !isInFolded(path, writable));
  return {
    readable: everythingExcept({ hide, show: [...policy.show, ...copies, policy.root, ...writable] }),
    writable,
  };
}

/** In a directory that a command may change it could put a symlink where the next command's rule looks for a root. */
function outermost(roots: readonly string[]): readonly string[] {
  return roots.filter((root) => !roots.some((other) => other !== root && isBelow(root, other)));
}

/** A tree that can be written can be read as a whole: new files in it have no rules of their own. */
function refuseHiddenInside(roots: readonly string[], policy: Policy): void {
  const isHarmless = (path: string) => policy.copies.some(({ at, isWhole }) => isWhole && at === path);
  const inside = policy.hide.find(
    (path) => isInFolded(path, roots) && isHidden(path, policy) && isThere(path) && !isHarmless(path),
  );
  if (inside === undefined) return;
  throw new Unavailable(
    `"${inside}" is hidden and lies where commands may write, of which Landlock can except nothing`,
    "work in a directory that holds nothing hidden, or open it with --allow-read",
  );
}

/** In a tree that can be written nothing stays as it is, and nobody restores these. */
function refuseHeldInside(roots: readonly string[], { held = [] }: Policy): void {
  const inside = held.find((path) => isInFolded(path, roots) && look(path) !== undefined);
  if (inside === undefined) return;
  throw new Unavailable(
    `"${inside}" decides what koda or git runs and lies where commands may write, of which Landlock can except nothing`,
    "keep it outside of the project and of what --allow-write opens",
  );
}

/** As user 0 a command could change the machine through one, whatever else it may not do. */
function refuseKernelInside(roots: readonly string[]): void {
  const inside = kernelMounts().find((place) => isInFolded(place, roots));
  if (inside === undefined) return;
  throw new Unavailable(
    `a file system of the kernel is mounted at "${inside}", where commands may write, and Landlock can except nothing`,
    "work in a directory in which none is mounted",
  );
}

function realPath(path: string): readonly string[] {
  const real = unlessRefused(() => realpathSync(path));
  return real === undefined ? [] : [real];
}

/** Only what is named can be read or written; but names can be listed everywhere, or no directory on the way could. */
export function restrictionTo({ readable, writable }: Reach, abi: number): Restriction {
  return {
    abi,
    paths: [
      { path: "/", access: listing },
      ...readable.map((path) => ({ path, access: reading })),
      ...writable.map((path) => ({ path, access: reading | writing })),
      ...devices.map((path) => ({ path, access: usingDevice })),
    ],
    // The supervisor connects in the command's stead, and is not restricted itself.
    closesTcp: true,
  };
}
