import { realpathSync, renameSync } from "node:fs";
import { basename, dirname, relative, join } from "node:path";
import { SerialQueue } from "../../async/serialqueue.ts";
import { unlessRefused } from "../../errors.ts";
import { HeldDirectory, namesIn } from "../../files/held.ts";
import type { Entry } from "../../files/entry.ts";
import { ancestors, isBelow } from "../../files/path.ts";
import { problemOf, restoreEntries, Unrestorable, type Restoration } from "../../files/restore.ts";
import type { HeldEntry } from "../../files/save.ts";
import type { RepositoryFinding } from "./finding.ts";
import { makeReadable, makeWritable } from "./blind.ts";
import { identityAt, statsAt } from "./identity.ts";
import { isLock, type Memory, missingObjects, objectsIn, remember, rememberPlace, withOneName } from "./memory.ts";
import type { RepositoryOptions } from "./newrepositories.ts";
import { guardedParts } from "./parts.ts";
import type { ProtectedPaths } from "./protected.ts";
import { moveToQuarantine } from "./quarantine.ts";
import { findByIdentity } from "./renamed.ts";

/** Mounts hold what is protected, but for symlinks and for what is not there yet, which no mount can. */
type Mounted = { isMounted?: boolean };

/**
 * Of the repository that is open only what git would run is guarded; what commands added is moved to the quarantine.
 */
type GuardOptions = RepositoryOptions &
  Mounted & {
    /** Other paths that are to stay as they are, there or not. */
    also?: readonly string[];
    /** The same, by where the repositories are now. */
    named?: () => readonly string[];
    /** Does a command run that began earlier and goes on beside the calls? */
    isBusy?: () => boolean;
    /** Resolves when no other run's commands could change what is guarded, until it is disposed. */
    alone?: (signal: AbortSignal) => Promise<Disposable>;
  };

/**
 * Holds protected paths where no mount can: remembers what they were before a command, and restores them after it.
 * Commands that overlap share one memory, taken when none was running; what one of them did would be remembered as
 * right for the next otherwise.
 */
export class Guard {
  readonly #paths: ProtectedPaths;
  readonly #options: GuardOptions;
  #watches: readonly Watch[] = [];
  #running = 0;
  /** A command outlived the last look. */
  #isDirty = false;
  #alone: Disposable | undefined;
  readonly #queue = new SerialQueue();

  constructor(paths: ProtectedPaths, options: GuardOptions) {
    this.#paths = paths;
    this.#options = options;
  }

  /** Before a command. When this throws it must not run. */
  begin(signal = new AbortController().signal): Promise<readonly RepositoryFinding[]> {
    return this.#queue.run(async () => {
      const findings = this.#isDirty ? await this.#restore() : [];
      if (this.#running === 0 && !this.#isDirty) this.#watches = await this.#remember(signal);
      this.#running++;
      return findings;
    });
  }

  /** Takes second names from files, by which commands could go on changing them: of a killed run nobody did. */
  separate(signal: AbortSignal): Promise<readonly RepositoryFinding[]> {
    return this.#queue.run(async () => {
      const watches = await this.#remember(signal, { isMounted: false });
      this.#watches = watches.map((each) => ({ ...each, memory: withOneName(each.memory) }));
      const findings = await this.#restore();
      this.#watches = [];
      return findings;
    });
  }

  /** After a command, and everything that it started. */
  end(): Promise<readonly RepositoryFinding[]> {
    return this.#queue.run(async () => {
      this.#running--;
      return this.#restore();
    });
  }

  /** While commands run. Later it would undo what the user does. */
  restore(): Promise<readonly RepositoryFinding[]> {
    return this.#queue.run(async () => (this.#running > 0 || this.#isDirty ? this.#restore() : []));
  }

  async #remember(signal: AbortSignal, { isMounted = false }: Mounted = this.#options): Promise<readonly Watch[]> {
    const { open, also = [], named, alone } = this.#options;
    const whole = this.#paths.entries
      .filter(({ path, kind }) => !this.#isOpen(path) && (!isMounted || kind === "symlink"))
      .map(({ path }) => path);
    const parts = open === undefined ? [] : guardedParts(open);
    const all = new Set([...also, ...(named?.() ?? [])]);
    const others = [...all].filter((path) => !whole.some((above) => isBelow(path, above)));
    if (whole.length + parts.length + others.length > 0) this.#alone ??= await alone?.(signal);
    using failed = new DisposableStack();
    failed.defer(() => this.#letOthers());
    const last = new Map(this.#watches.map(({ path, memory }) => [path, memory]));
    const room = { bytes: mostBytes };
    const watches: Watch[] = open === undefined ? [] : [await watch(open, async (...at) => rememberPlace(...at))];
    for (const path of [...whole, ...parts, ...others]) {
      const watched = await watch(path, (...at) => remember(...at, { last: last.get(path), room }));
      watches.push({ ...watched, isNamed: others.includes(path) });
    }
    failed.move();
    // A directory in another's place is moved back, before something is made again there.
    const isDirectory = ({ kind }: Watch) => kind === "directory";
    return [...watches.filter(isDirectory), ...watches.filter((one) => !isDirectory(one))];
  }

  #isOpen(path: string): boolean {
    return this.#options.open !== undefined && isBelow(path, this.#options.open);
  }

  async #restore(): Promise<readonly RepositoryFinding[]> {
    const { open, isBusy } = this.#options;
    this.#isDirty = isBusy?.() === true;
    const clear = (target: HeldEntry) => this.#clear(target);
    const lost: string[] = [];
    const forget = (identity: string) => void lost.push(identity);
    const byRepository = new Map<string, Restoration[]>();
    for (const watch of this.#watches) {
      const repository = open !== undefined && this.#isOpen(watch.path) ? open : watch.path;
      const restorations = byRepository.get(repository) ?? [];
      byRepository.set(repository, restorations);
      restorations.push(...(await restoreWatch(watch, { roots: this.#paths.roots, clear, forget })));
    }
    for (const [repository, restorations] of byRepository)
      if (!restorations.some(({ problem }) => problem?.kind === "refused")) this.#paths.accept(repository);
    for (const identity of lost) this.#paths.forget(identity);
    if (this.#running === 0 && !this.#isDirty) this.#letOthers();
    return [...byRepository].flatMap(([repository, restorations]) => findingsOf(repository, restorations));
  }

  #letOthers(): void {
    this.#alone?.[Symbol.dispose]();
    this.#alone = undefined;
  }

  /** Nothing that a command wrote is thrown away. */
  #clear({ directory, name }: HeldEntry): void {
    const path = join(directory.path, name);
    const identity = identityAt(path);
    if (identity === undefined) return;
    const isDirectory = directory.look(name)?.isDirectory() === true;
    if (isDirectory && this.#paths.isKnown(identity))
      throw new Unrestorable({ kind: "refused", reason: `"${path}" was moved there` });
    const suspect = { path, identity, reason: "it was not there before" };
    const moved = moveToQuarantine(suspect, this.#options.quarantine);
    if (moved.kind === "failed") throw new Unrestorable({ kind: "refused", reason: moved.error ?? moved.problem });
  }
}

/** All guarded files together; what is beyond is known by its signature only. */
const mostBytes = 64 * 1024 * 1024;

/** A protected path, and what it was. */
type Watch = {
  path: string;
  memory: Memory;
  kind: Entry["kind"];
  identity: string | undefined;
  /** The lowest directory on the way to it that was there, and its identity. */
  above: string;
  parent: string | undefined;
  /** As of the last look. */
  objects: ReadonlySet<string>;
  /** git follows the path, whatever was there; a repository somewhere else is judged. */
  isNamed?: boolean;
};

type Look = (parent: HeldDirectory, name: string) => Promise<Memory>;

async function watch(path: string, look: Look): Promise<Watch> {
  const directory = dirname(path);
  const above = ancestors(directory).find((one) => identityAt(one) !== undefined) ?? "/";
  const parent = identityAt(above);
  const name = basename(path);
  const objects = objectsIn(path);
  const memory = above === directory ? await lookIn(directory, name, look) : nothingBy(name);
  const kind = memory.get(name)?.kind ?? "missing";
  return { path, memory, kind, identity: kind === "missing" ? undefined : identityAt(path), above, parent, objects };
}

const nothingBy = (name: string): Memory => new Map([[name, { kind: "missing" }]]);

async function lookIn(parent: string, name: string, look: Look): Promise<Memory> {
  using directory = HeldDirectory.open(parent);
  return await look(directory, name);
}

type RestoreOptions = {
  roots: readonly string[];
  clear: (target: HeldEntry) => void;
  /** Called with the identity of what could not be found, and was made again. */
  forget: (identity: string) => void;
};

async function restoreWatch(watch: Watch, options: RestoreOptions): Promise<readonly Restoration[]> {
  const { clear, forget } = options;
  const { memory, path, identity } = watch;
  const restorations: Restoration[] = [];
  try {
    if (clearWay(path, options)) restorations.push({ path });
    const isMissing = identity === undefined && identityAt(path) === undefined;
    if (isMissing && identityAt(watch.above) === watch.parent) return restorations;
    const { now, isMoved } = await settle(watch, options);
    if (isMoved || clearWay(now, options)) restorations.push({ path });
    const isThere = identityAt(path) !== undefined;
    for (const place of new Set(watch.isNamed === true && isThere ? [now, path] : [now]))
      if (identity !== undefined || identityAt(place) !== undefined)
        restorations.push(...(await restoreAt(place, memory, clear)));
    restorations.push(...lostObjects(watch, now));
    if (identity !== undefined && identityAt(now) !== identity) forget(identity);
  } catch (error) {
    restorations.push({ path, problem: problemOf(error) });
  }
  return restorations;
}

async function restoreAt(
  place: string,
  memory: Memory,
  clear: RestoreOptions["clear"],
): Promise<readonly Restoration[]> {
  using parent = HeldDirectory.open(dirname(place), { create: true });
  const isExempt = ({ directory, name }: HeldEntry) => isLock(directory, name);
  const restore = () => restoreEntries(parent, memory, { clear, isExempt, keepsTimes: true, keepsNames: true });
  const first = await restore();
  const isRefused = first.some(({ problem }) => problem?.kind === "refused");
  const done = isRefused && makeWritable(parent) ? [...first.filter(isDone), ...(await restore())] : first;
  return done.map((one) => ({ ...one, path: join(parent.path, one.path) }));
}

/**
 * Takes away what is no directory on the way to a path; false when there is nothing. git follows a symlink, and what is
 * restored where the directory was would not be found. A directory that is closed to koda is opened: it will be, later.
 */
function clearWay(path: string, { roots, clear }: Pick<RestoreOptions, "roots" | "clear">): boolean {
  if (isWayClear(path)) return false;
  const [root] = roots.filter((one) => isBelow(path, one)).sort((a, b) => a.length - b.length);
  if (root === undefined) return false;
  using held = new DisposableStack();
  let directory = held.use(HeldDirectory.open(root));
  for (const name of namesIn(relative(root, dirname(path)))) {
    const look = () => directory.look(name);
    const stats = unlessRefused(look) ?? (makeReadable(directory.path) ? look() : undefined);
    if (stats?.isDirectory() !== true) {
      if (stats !== undefined) clear({ directory, name });
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

/** Told once. */
function lostObjects(watch: Watch, path: string): readonly Restoration[] {
  const before = watch.objects;
  watch.objects = objectsIn(path);
  if (missingObjects(before, watch.objects).length === 0) return [];
  return [{ path: join(path, "objects"), problem: { kind: "lost", reason: "git's objects are not kept" } }];
}

/** Finds where to restore: at its place, to which it is moved back, or below a directory that was renamed with it. */
async function settle({ kind, path, identity, above, parent }: Watch, { roots, clear }: RestoreOptions) {
  const inPlace = { now: path, isMoved: false };
  if (identity === undefined) {
    const moved = parent === identityAt(above) ? above : await findByIdentity(parent ?? "", roots);
    return { now: join(moved ?? above, relative(above, path)), isMoved: false };
  }
  if (identityAt(path) === identity) return inPlace;
  // A file is written again from memory, wherever the old one is; a directory has more in it than that.
  if (kind !== "directory" && identityAt(dirname(path)) === parent) return inPlace;
  const found = await findByIdentity(identity, roots);
  if (found === undefined) return inPlace;
  if (basename(found) === basename(path) && identityAt(dirname(found)) === parent)
    return { now: found, isMoved: false };
  using from = HeldDirectory.open(dirname(found));
  using to = HeldDirectory.open(dirname(path), { create: true });
  for (const directory of [from, to]) makeWritable(directory);
  clear({ directory: to, name: basename(path) });
  renameSync(from.at(basename(found)), to.at(basename(path)));
  return { now: path, isMoved: true };
}

const isDone = ({ problem }: Restoration): boolean => problem === undefined;

function findingsOf(repository: string, restorations: readonly Restoration[]): readonly RepositoryFinding[] {
  const nameOf = (path: string) => (isBelow(path, repository) ? relative(repository, path) || basename(path) : path);
  const named = (some: readonly Restoration[]) => [...new Set(some.map(({ path }) => nameOf(path)))];
  if (restorations.length === 0) return [];
  const parts = named(restorations.filter(isDone));
  const lost = named(restorations.filter((one) => !isDone(one)));
  const error = restorations.find(({ problem }) => problem?.kind === "refused")?.problem?.reason;
  return [{ kind: "restored", path: repository, parts, lost, ...(error !== undefined && { error }) }];
}
