import { dirname } from "node:path";
import { KodaError } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import type { Policy, SettingsCopy } from "../policy/policy.ts";
import { isHidden, isInKernelTree } from "../policy/reach.ts";

/**
 * A command's view of the file system, as data: the host's tree, read-only, and over it, in this order, what is
 * different. The tiers with mounts carry it out, each in its own way.
 */
export type Layout = {
  /** False only where the whole tree is a writable root. */
  readonlyTree: boolean;
  mounts: readonly Mount[];
  /**
   * The trees and files that Landlock lets commands read: everything but what is hidden, also when that is replaced or
   * first appears while a command runs, which no mount can cover. Absent where mounts alone have to hide.
   */
  readable?: readonly string[];
  /** Places to make in the new `/dev`, for roots that lie there (in shared memory). */
  inDevices: readonly Inside[];
};

export type Mount =
  /** The host's tree or file at `from`, with all that is mounted in it, at another place or the same. */
  | { kind: "tree"; from: string; at: string; writable: boolean; inside: readonly Inside[] }
  /**
   * An empty directory in place of what is there; it cannot be listed when nothing is to be seen in it. `from` is then
   * one that stays closed to commands which modes do not hold back.
   */
  | { kind: "cover"; at: string; inside: readonly Inside[]; from?: string }
  /**
   * A file that cannot be opened in place of what is there: a device on a mount without devices, which is EACCES for
   * everyone. An empty file would be read as settings that say nothing.
   */
  | { kind: "sealed"; at: string }
  /** The file or directory stays there, and stays as it is. */
  | { kind: "frozen"; at: string };

/** Nothing can be written there, but only once everything has its place: until then places are made in it. */
export function isOpenAtFirst(mount: Mount): boolean {
  return mount.kind === "cover" || (mount.kind === "tree" && !mount.writable) ? mount.inside.length > 0 : false;
}

/** A place to make inside of a mount, so that later ones find theirs. */
export type Inside = { path: string; kind: "directory" | "file" };

export type Kind = "directory" | "file" | "link";
/** The kind of file at a path, a symlink not followed; undefined when there is none, or koda may not look. */
type Look = (path: string) => Kind | undefined;

/** A layout depends on this beside the policy. */
type LayoutContext = {
  look: Look;
  /** Mount points of the kernel's own file systems (proc, sysfs, …). */
  kernelMounts: readonly string[];
  /** The result of `waysToHidden` before the first command ran. */
  ways: readonly string[];
  /** As `OwnerRights` has it. */
  cover?: string | undefined;
};

export function layoutOf(policy: Policy, { look, kernelMounts, ways, cover }: LayoutContext): Layout {
  const { paths: repositories } = policy.repositories;
  refuseMissing(repositories, look);
  const kept = [...policy.readonly, ...repositories];
  const isKept = (path: string) => kept.some((place) => isBelow(path, place));
  const roots = rootsOf(policy).filter((root) => !isKept(root));
  const isWritten = (path: string) => roots.some((root) => isBelow(path, root));

  const fixed = [...ways, ...between(roots, policy.readonly)].filter((path) => look(path) === "directory");
  const trees: Placed[] = [...new Set([...roots, ...fixed])]
    .filter((path) => path !== "/" && !isKept(path))
    .map((at) => treeOf(at, { writable: true }));
  if (policy.privateTmp) trees.push(privateTmpOf(policy));
  const copies = policy.copies.filter(({ at }) => look(at) === "file").map(copyOf);
  const covers = policy.hide
    .filter((path) => !policy.show.includes(path) && !isInKernelTree(path) && !copies.some(({ at }) => at === path))
    .flatMap((at) => coverOf(at, look(at)));
  const lost = [...covers.map(({ at }) => at), ...(policy.privateTmp ? ["/tmp"] : [])];
  const shown = policy.show
    .filter((path) => !(policy.privateTmp && path === policy.tmp) && look(path) !== undefined)
    .filter((path) => lost.some((above) => isBelow(path, above) && path !== above))
    .filter((path) => !trees.some(({ at }) => at === path))
    .map((at) => treeOf(at, { writable: isWritten(at) }));

  for (const tree of [...trees, ...shown]) if (tree.kind === "tree" && tree.writable) refuseLink(tree.from, look);

  const placed = [...trees, ...covers, ...copies, ...shown].sort(fromTheTop);
  const frozen = frozenIn(
    [...kept, ...kernelMounts].filter((path) => isWritten(path)),
    look,
  );
  const inDevices = placed
    .filter(({ at }) => isBelow(at, "/dev/shm"))
    .flatMap((mount) => placeOf(mount, "/dev/shm", look));
  return {
    readonlyTree: !roots.includes("/"),
    inDevices,
    mounts: [...placed.map((mount) => closed(withInside(mount, placed, look), cover)), ...frozen],
  };
}

/**
 * The directories in which something hidden lies, below a writable root. Nobody can rename a mount point; but what it
 * lies in could be, and then the next command would find it by a name that no rule is about. They are looked for before
 * the first command runs: of a later one a command could make a symlink, and what that leads to would be writable.
 */
export function waysToHidden(policy: Policy, look: Look): readonly string[] {
  const roots = rootsOf(policy);
  const tmp = policy.privateTmp && roots.some((root) => isBelow(policy.tmp, root)) ? [policy.tmp] : [];
  return [...between(roots, [...policy.hide, ...tmp]), ...tmp].filter((path) => look(path) === "directory");
}

/** A root in another root needs no place of its own, and has none that a command could not make a symlink of. */
function rootsOf({ write, tmp, privateTmp, hide }: Policy): readonly string[] {
  const roots = write.filter((root) => !(privateTmp && root === tmp));
  const isHiddenIn = (root: string, other: string) => hide.some((path) => isBelow(root, path) && isBelow(path, other));
  return roots.filter(
    (root) => !roots.some((other) => other !== root && isBelow(root, other) && !isHiddenIn(root, other)),
  );
}

/** The run's own directory; an empty one where a part of the run may not even read that. */
function privateTmpOf(policy: Policy): Placed {
  const { tmp, write } = policy;
  if (isHidden(tmp, policy)) return { kind: "cover", at: "/tmp", rank: 0 };
  const writable = write.some((root) => isBelow(tmp, root));
  return { kind: "tree", from: tmp, at: "/tmp", writable, rank: 0 };
}

/** A command that runs already may have renamed a directory above one since it was found: no mount could protect it. */
function refuseMissing(repositories: readonly string[], look: Look): void {
  const gone = repositories.find((path) => look(path) === undefined);
  if (gone !== undefined)
    throw new KodaError(
      "sandbox",
      `Cannot run a command: "${gone}", which is protected, was moved or removed meanwhile`,
    );
}

function between(roots: readonly string[], paths: readonly string[]): string[] {
  return paths.flatMap((path) => roots.filter((root) => isBelow(path, root)).flatMap((root) => wayDown(root, path)));
}

/** The policy's paths are real: a symlink has been put there since, and may lead anywhere. */
function refuseLink(path: string, look: Look): void {
  const link = [...wayDown("/", path), path].find((each) => look(each) === "link");
  if (link !== undefined)
    throw new KodaError("sandbox", `Cannot run a command: "${link}" was a directory, and has become a symlink`);
}

/** Only where there is a directory to put it on, and not where that would hide a writable root from itself. */
export function canReplaceTmp({ write, tmp }: Pick<Policy, "write" | "tmp">, look: Look): boolean {
  return look("/tmp") === "directory" && !write.some((root) => root !== tmp && isBelow("/tmp", root));
}

/** At one place what is covered is covered last. */
type Placed = { rank: number } & (
  | { kind: "tree"; from: string; at: string; writable: boolean }
  | { kind: "cover"; at: string }
  | { kind: "sealed"; at: string }
);

function treeOf(path: string, { writable }: { writable: boolean }): Placed {
  return { kind: "tree", from: path, at: path, writable, rank: 0 };
}

function copyOf({ at, copy }: SettingsCopy): Placed {
  return { kind: "tree", from: copy, at, writable: false, rank: 1 };
}

/** A symlink needs no cover: what it leads to has one. */
function coverOf(at: string, kind: Kind | undefined): Placed[] {
  if (kind === "directory") return [{ kind: "cover", at, rank: 1 }];
  return kind === "file" ? [{ kind: "sealed", at, rank: 1 }] : [];
}

/** A directory comes before the places in it. */
function fromTheTop(a: Placed, b: Placed): number {
  return depth(a.at) - depth(b.at) || a.rank - b.rank;
}

function depth(path: string): number {
  return path.split("/").length;
}

function withInside(mount: Placed, placed: readonly Placed[], look: Look): Mount {
  const { kind, at } = mount;
  if (kind === "sealed") return { kind, at };
  if (kind === "cover") return { kind, at, inside: placesIn(at, placed, look) };
  const { from, writable } = mount;
  return { kind, from, at, writable, inside: from === at ? [] : placesIn(at, placed, look) };
}

function closed(mount: Mount, cover: string | undefined): Mount {
  if (cover === undefined || mount.kind !== "cover" || mount.inside.length > 0) return mount;
  return { ...mount, from: cover };
}

/** The places whose nearest mount above is the one at `at`. */
function placesIn(at: string, placed: readonly Placed[], look: Look): Inside[] {
  const nearest = (path: string) =>
    placed.map((mount) => mount.at).findLast((other) => other !== path && isBelow(path, other));
  const inside = placed.filter(({ at: path }) => path !== at && nearest(path) === at);
  return inside.flatMap((mount) => placeOf(mount, at, look));
}

/** The place of a mount, and the directories on the way to it. */
function placeOf({ at }: { at: string }, top: string, look: Look): Inside[] {
  const way = wayDown(top, at).map((path): Inside => ({ path, kind: "directory" }));
  return [...way, { path: at, kind: look(at) === "directory" ? "directory" : "file" }];
}

function wayDown(top: string, path: string): string[] {
  const parent = dirname(path);
  return parent === top || !isBelow(parent, top) ? [] : [...wayDown(top, parent), parent];
}

/** Paths in something frozen are frozen with it. */
function frozenIn(paths: readonly string[], look: Look): Mount[] {
  const kept: string[] = [];
  for (const path of [...new Set(paths)].sort((a, b) => depth(a) - depth(b)))
    if (look(path) !== undefined && !kept.some((above) => isBelow(path, above))) kept.push(path);
  return kept.map((at) => ({ kind: "frozen", at }));
}
