import { accessSync, constants, lstatSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { errnoOf, reasonOf, unlessRefused } from "../errors.ts";
import { isBelow } from "../files/path.ts";
import { Unrestorable } from "../files/restore.ts";
import { protectedName } from "../sandbox/policy/reach.ts";
import type { Contents } from "./contents.ts";
import type { Manifest } from "./record.ts";
import { type FileState, isSameState, stateAt } from "./state.ts";

/** A file that a restoration changes: from its present state to the one before all of the snapshots. */
export type Restored = {
  /** Absolute. */
  path: string;
  root: string;
  now: FileState;
  before: FileState;
  /** Someone else changed it between two of the snapshots. */
  wasEdited: boolean;
};

/** A file that stays as it is; `path` is absolute. */
type Unrestored = { path: string; reason: string };

export type RestorePlan = {
  roots: readonly string[];
  restored: readonly Restored[];
  /** They are what they were before already. */
  same: readonly Pick<Restored, "path" | "root" | "before">[];
  /** They are not as koda left them, or something of the user's is in the way. */
  kept: readonly Unrestored[];
  /** They cannot become what they were. */
  lost: readonly Unrestored[];
  /** Directories that were not there, and those that were; those above others come first. */
  directories: readonly { path: string; root: string; wasThere: boolean }[];
};

type PlanOptions = {
  contents: Contents;
  /** Files that the user has changed are restored as well. */
  force: boolean;
};

/** Decides what has to be done to undo the changes of snapshots, the oldest first. Nothing is touched. */
export async function planRestoration(
  manifests: readonly Manifest[],
  { contents, force }: PlanOptions,
): Promise<RestorePlan> {
  const histories = historiesOf(manifests);
  const wanted: Restored[] = [];
  const same: Pick<Restored, "path" | "root" | "before">[] = [];
  const kept: Unrestored[] = [];
  for (const [path, { root, before, left, wasEdited }] of histories) {
    const now = isReachable(path) ? stateAt(path) : missing;
    if (isSameState(now, before)) same.push({ path, root, before });
    else if (force || isSameState(now, left)) wanted.push({ path, root, now, before, wasEdited });
    else kept.push({ path, reason: "it was changed since koda's last turn" });
    if ((wanted.length + kept.length) % 100 === 0) await yieldToEventLoop();
  }

  const deleted = new Set(wanted.filter(({ before }) => before.kind === "missing").map(({ path }) => path));
  const restored: Restored[] = [];
  const lost: Unrestored[] = [];
  for (const each of wanted) {
    const obstacle = obstacleOf(each, deleted);
    const reason = obstacle === undefined ? whyLost(each, contents) : undefined;
    if (obstacle !== undefined) kept.push({ path: each.path, reason: obstacle });
    else if (reason !== undefined) lost.push({ path: each.path, reason });
    else restored.push(each);
  }
  const roots = [...new Set(manifests.map(({ root }) => root))];
  return { roots, restored, same, kept, lost, directories: directoriesOf(manifests) };
}

const missing: FileState = { kind: "missing" };

type FileHistory = Omit<Restored, "path" | "now"> & { left: FileState };

/** Of each file the state before the first snapshot, and the one that the last left it in. */
function historiesOf(manifests: readonly Manifest[]): ReadonlyMap<string, FileHistory> {
  const histories = new Map<string, FileHistory>();
  for (const { root, changes } of manifests)
    for (const { path, before, after } of changes) {
      const absolute = join(root, path);
      const known = histories.get(absolute);
      const wasEdited = known !== undefined && (known.wasEdited || !isSameState(known.left, before));
      histories.set(absolute, { root, before, ...known, left: after, wasEdited });
    }
  return new Map([...histories].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A file that is only reached through a symlink is another place's. */
function isReachable(path: string): boolean {
  const directory = dirname(path);
  return unlessRefused(() => realpathSync(directory)) === directory;
}

/** Something that is not in the plan and lies where the file, or a directory on the way to it, has to be. */
function obstacleOf({ path, root, before }: Restored, deleted: ReadonlySet<string>): string | undefined {
  if (before.kind === "missing") return undefined;
  for (let above = dirname(path); above !== root && isBelow(above, root); above = dirname(above)) {
    const kind = kindAt(above);
    if (kind !== "missing" && kind !== "directory" && !deleted.has(above)) return `"${above}" is in the way`;
  }
  const kind = kindAt(path);
  if (kind === "other") return "something that is no file is in the way";
  const stays = kind === "directory" ? firstThatStays(path, deleted) : undefined;
  return stays && `"${stays}" is in the way`;
}

function kindAt(path: string): "missing" | "directory" | "file" | "other" {
  const stats = unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return "missing";
  if (stats.isDirectory()) return "directory";
  return stats.isFile() || stats.isSymbolicLink() ? "file" : "other";
}

/** The first entry in a directory that the plan does not delete. */
function firstThatStays(directory: string, deleted: ReadonlySet<string>): string | undefined {
  for (const entry of unlessRefused(() => readdirSync(directory, { withFileTypes: true })) ?? []) {
    const path = join(directory, entry.name);
    const stays = entry.isDirectory() ? firstThatStays(path, deleted) : deleted.has(path) ? undefined : path;
    if (stays !== undefined) return stays;
  }
  return undefined;
}

function whyLost({ path, root, before }: Restored, contents: Contents): string | undefined {
  const name = protectedName(path.slice(root.length));
  if (name !== undefined) return `it is protected: ${name} is left as it is`;
  if (before.kind !== "missing" && before.hash === undefined)
    return "its content was not kept: it was larger than 64 MiB, or git did not have it";
  try {
    if (before.kind !== "missing" && before.hash !== undefined) contents.read(before.hash);
    accessSync(nearestDirectory(dirname(path), root), constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    if (!(error instanceof Unrestorable) && errnoOf(error) === undefined) throw error;
    return reasonOf(error);
  }
}

/** The first snapshot that has a directory tells if it was there before all. */
function directoriesOf(manifests: readonly Manifest[]): RestorePlan["directories"] {
  const directories = new Map<string, RestorePlan["directories"][number]>();
  for (const { root, made, removed } of manifests)
    for (const [names, wasThere] of [
      [made, false],
      [removed, true],
    ] as const)
      for (const name of names) {
        const path = join(root, name);
        if (!directories.has(path)) directories.set(path, { path, root, wasThere });
      }
  return [...directories.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** The deepest directory on a path that is there. */
export function nearestDirectory(path: string, root: string): string {
  return path === root || kindAt(path) === "directory" ? path : nearestDirectory(dirname(path), root);
}
