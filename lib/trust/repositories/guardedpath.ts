import { realpathSync, renameSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { unlessRefused } from "../../errors.ts";
import type { Entry } from "../../files/entry.ts";
import { HeldDirectory, namesIn } from "../../files/held.ts";
import { ancestors, isBelow } from "../../files/path.ts";
import { problemOf, restoreEntries, Unrestorable, type Restoration } from "../../files/restore.ts";
import type { HeldEntry } from "../../files/save.ts";
import { makeReadable, makeWritable } from "./blind.ts";
import { identityAt, statsAt } from "./identity.ts";
import { isLock, type Memory, missingObjects, objectsIn } from "./memory.ts";
import type { ProtectedPaths, Replacement } from "./protected.ts";
import { moveToQuarantine } from "./quarantine.ts";
import { findByIdentity } from "./renamed.ts";

/** A protected path, and what it was. */
export type GuardedPath = {
  path: string;
  memory: Memory;
  kind: Entry["kind"];
  /** Of what was there, or of what was made again in its place. */
  identity: string | undefined;
  /** The lowest directory on the way to it that was there, and its identity. */
  above: string;
  parent: string | undefined;
  /** The identities of all that is protected at the path and below it, by relative paths. */
  inner: ReadonlyMap<string, string>;
  /** As of the last look. */
  objects: ReadonlySet<string>;
  /** git follows the path, whatever was there; a repository somewhere else is judged. */
  isNamed?: boolean;
};

type Look = (parent: HeldDirectory, name: string) => Promise<Memory>;

export async function guardPath(
  path: string,
  { known }: Pick<ProtectedPaths, "known">,
  look: Look,
): Promise<GuardedPath> {
  const directory = dirname(path);
  const above = ancestors(directory).find((one) => identityAt(one) !== undefined) ?? "/";
  const parent = identityAt(above);
  const name = basename(path);
  const objects = objectsIn(path);
  const memory = above === directory ? await lookIn(directory, name, look) : nothingBy(name);
  const kind = memory.get(name)?.kind ?? "missing";
  const below = known.filter((one) => isBelow(one.path, path));
  const inner = new Map(below.map((one) => [relative(path, one.path), one.identity]));
  return {
    path,
    memory,
    kind,
    identity: kind === "missing" ? undefined : identityAt(path),
    above,
    parent,
    inner,
    objects,
  };
}

const nothingBy = (name: string): Memory => new Map([[name, { kind: "missing" }]]);

async function lookIn(parent: string, name: string, look: Look): Promise<Memory> {
  using directory = HeldDirectory.open(parent);
  return await look(directory, name);
}

type RestoreOptions = {
  paths: ProtectedPaths;
  /** Nothing that a command wrote is thrown away. */
  quarantine: string;
};

/** Makes the path what it was; what was made again for it is held from then on as what was there before. */
export async function restorePath(guarded: GuardedPath, options: RestoreOptions): Promise<readonly Restoration[]> {
  const { memory, path, identity } = guarded;
  const restorations: Restoration[] = [];
  try {
    if (clearWay(path, options)) restorations.push({ path });
    const isMissing = identity === undefined && identityAt(path) === undefined;
    if (isMissing && identityAt(guarded.above) === guarded.parent) return restorations;
    const settled = await settle(guarded, options);
    const { now, isMoved } = settled;
    if (isMoved || clearWay(now, options)) restorations.push({ path });
    const isThere = identityAt(path) !== undefined;
    for (const place of new Set(guarded.isNamed === true && isThere ? [now, path] : [now]))
      if (identity !== undefined || identityAt(place) !== undefined)
        restorations.push(...(await restoreAt(place, memory, options)));
    restorations.push(...lostObjects(guarded, now));
    if (!restorations.some(({ problem }) => problem?.kind === "refused")) follow(guarded, settled, options);
  } catch (error) {
    restorations.push({ path, problem: problemOf(error) });
  }
  return restorations;
}

async function restoreAt(place: string, memory: Memory, options: RestoreOptions): Promise<readonly Restoration[]> {
  using parent = HeldDirectory.open(dirname(place), { create: true });
  const clear = (target: HeldEntry) => clearAway(target, options);
  const isExempt = ({ directory, name }: HeldEntry) => isLock(directory, name);
  const restore = () => restoreEntries(parent, memory, { clear, isExempt, keepsTimes: true, keepsNames: true });
  const first = await restore();
  const isRefused = first.some(({ problem }) => problem?.kind === "refused");
  const done =
    isRefused && makeWritable(parent)
      ? [...first.filter(({ problem }) => problem === undefined), ...(await restore())]
      : first;
  return done.map((one) => ({ ...one, path: join(parent.path, one.path) }));
}

/**
 * Takes away what is no directory on the way to a path; false when there is nothing. git follows a symlink, and what is
 * restored where the directory was would not be found. A directory that is closed to koda is opened: it will be, later.
 */
function clearWay(path: string, options: RestoreOptions): boolean {
  if (isWayClear(path)) return false;
  const [root] = options.paths.roots.filter((one) => isBelow(path, one)).sort((a, b) => a.length - b.length);
  if (root === undefined) return false;
  using held = new DisposableStack();
  let directory = held.use(HeldDirectory.open(root));
  for (const name of namesIn(relative(root, dirname(path)))) {
    const look = () => directory.look(name);
    const stats = unlessRefused(look) ?? (makeReadable(directory.path) ? look() : undefined);
    if (stats?.isDirectory() !== true) {
      if (stats !== undefined) clearAway({ directory, name }, options);
      return stats !== undefined;
    }
    directory = held.use(directory.child(name));
  }
  if (identityAt(path) === undefined) makeReadable(directory.path);
  return false;
}

function isWayClear(path: string): boolean {
  const look = () => (statsAt(path), realpathSync(dirname(path)) === dirname(path));
  return unlessRefused(look) ?? false;
}

function clearAway({ directory, name }: HeldEntry, { quarantine }: RestoreOptions): void {
  const path = join(directory.path, name);
  const identity = identityAt(path);
  if (identity === undefined) return;
  const moved = moveToQuarantine({ path, identity, reason: "it was not there before" }, quarantine);
  if (moved.kind === "failed") throw new Unrestorable({ kind: "refused", reason: moved.error ?? moved.problem });
}

/** A place to restore at, and whether what was there has to be made again. */
type Settled = { now: string; isMoved: boolean; isGone: boolean };

/** Finds where to restore: at its place, to which it is moved back, or below a directory that was renamed with it. */
async function settle({ kind, path, identity, above, parent }: GuardedPath, options: RestoreOptions): Promise<Settled> {
  const { roots } = options.paths;
  const at = (now: string): Settled => ({ now, isMoved: false, isGone: kind !== "directory" });
  if (identity === undefined) {
    const moved = parent === identityAt(above) ? above : await findByIdentity(parent ?? "", roots);
    return at(join(moved ?? above, relative(above, path)));
  }
  if (identityAt(path) === identity) return at(path);
  // A file is written again from memory, wherever the old one is; a directory has more in it than that.
  if (kind !== "directory" && identityAt(dirname(path)) === parent) return at(path);
  const there = await findByIdentity(identity, roots);
  if (there !== undefined && basename(there) === basename(path) && identityAt(dirname(there)) === parent)
    return at(there);
  // It may have lain where something else that is protected belongs.
  const found = there ?? (await findByIdentity(identity, [options.quarantine]));
  // A command may have moved it on meanwhile, or back.
  if (identityAt(path) === identity) return at(path);
  if (found === undefined || identityAt(found) !== identity) return { ...at(path), isGone: true };
  using from = HeldDirectory.open(dirname(found));
  using to = HeldDirectory.open(dirname(path), { create: true });
  for (const directory of [from, to]) makeWritable(directory);
  clearAway({ directory: to, name: basename(path) }, options);
  renameSync(from.at(basename(found)), to.at(basename(path)));
  return { ...at(path), isMoved: true };
}

/** Told once. */
function lostObjects(guarded: GuardedPath, path: string): readonly Restoration[] {
  const before = guarded.objects;
  guarded.objects = objectsIn(path);
  if (missingObjects(before, guarded.objects).length === 0) return [];
  return [{ path: join(path, "objects"), problem: { kind: "lost", reason: "git's objects are not kept" } }];
}

/**
 * Takes what was made again for what was there. The old one is not protected any more: wherever it appears it is
 * judged, since a command may have changed it. A directory that is only away at this moment is looked for next time.
 */
function follow(guarded: GuardedPath, { now, isGone }: Settled, { paths }: RestoreOptions): void {
  if (guarded.identity !== undefined && isGone) guarded.identity = identityAt(now);
  if (guarded.identity !== undefined && guarded.identity !== identityAt(now)) return;
  const replaced = [...guarded.inner].map(([part, was]): Replacement & { part: string } => {
    const path = join(now, part);
    return { part, path, was, is: identityAt(path) };
  });
  paths.replace(replaced);
  guarded.inner = new Map(replaced.flatMap(({ part, is }) => (is === undefined ? [] : [[part, is]])));
}
