import { renameSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { SerialQueue } from "../../async/serialqueue.ts";
import { errnoOf, messageOf, reasonOf } from "../../errors.ts";
import { HeldDirectory, Replaced } from "../../files/held.ts";
import { isBelow } from "../../files/path.ts";
import type { Finding } from "./finding.ts";
import { identityOf } from "./listing.ts";
import { remember, rememberPlace, type Memory } from "./memory.ts";
import type { Handling } from "./newcomers.ts";
import { guardedParts } from "./parts.ts";
import type { ProtectedPaths } from "./protected.ts";
import { putBack, type Mending } from "./putback.ts";
import { findAgain, identityAt } from "./whereabouts.ts";

/** Of the repository that is open only what git would run is guarded; what commands added is moved to the quarantine. */
export type Guarding = Handling & {
  /** Mounts hold what is protected, but for symlinks and for what is not there yet, which no mount can. */
  isMounted?: boolean;
};

/**
 * Holds protected paths where no mount can: remembers what they were before a command, and makes them so again after it.
 * Commands that overlap share one memory, taken when none was running; what one of them did would be remembered as
 * right for the next otherwise.
 */
export class Guard {
  readonly #paths: ProtectedPaths;
  readonly #guarding: Guarding;
  #watches: readonly Watch[] = [];
  #running = 0;
  readonly #queue = new SerialQueue();

  constructor(paths: ProtectedPaths, guarding: Guarding) {
    this.#paths = paths;
    this.#guarding = guarding;
  }

  /** Before a command. When this throws it must not run. */
  take(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#running === 0) this.#watches = await this.#remember();
      this.#running++;
    });
  }

  /** After a command, and everything that it started. */
  restore(): Promise<readonly Finding[]> {
    return this.#queue.run(async () => {
      this.#running--;
      return this.#mend();
    });
  }

  /** While commands run. */
  mend(): Promise<readonly Finding[]> {
    return this.#queue.run(() => this.#mend());
  }

  async #remember(): Promise<readonly Watch[]> {
    const { open, isMounted = false } = this.#guarding;
    const whole = this.#paths.entries
      .filter(({ path, kind }) => !this.#isOpen(path) && (!isMounted || kind === "symlink"))
      .map(({ path }) => path);
    const parts = open === undefined ? [] : guardedParts(open);
    const last = new Map(this.#watches.map((watch) => [watch.path, watch.memory]));
    const room = { bytes: mostBytes };
    const watches: Watch[] = open === undefined ? [] : [await watch(open, async (...at) => rememberPlace(...at))];
    for (const path of [...whole, ...parts])
      watches.push(await watch(path, (...at) => remember(...at, { before: last.get(path), room })));
    return watches;
  }

  #isOpen(path: string): boolean {
    return this.#guarding.open !== undefined && isBelow(path, this.#guarding.open);
  }

  async #mend(): Promise<readonly Finding[]> {
    const { open, quarantine } = this.#guarding;
    const mendings = new Map<string, Mending>();
    for (const watch of this.#watches) {
      const repository = open !== undefined && this.#isOpen(watch.path) ? open : watch.path;
      const mending = mendings.get(repository) ?? { quarantine, putBack: new Set(), lost: new Set() };
      mendings.set(repository, mending);
      await mend(watch, mending, this.#paths.roots);
    }
    for (const [repository, { error }] of mendings) if (error === undefined) this.#paths.accept(repository);
    return [...mendings].flatMap(([repository, mending]) => findingsOf(repository, mending));
  }
}

/** All guarded files together; what is beyond is known by size and times only. */
const mostBytes = 64 * 1024 * 1024;

/** A protected path, and what it was. */
type Watch = {
  path: string;
  memory: Memory;
  /** Of the directory that it lies in; undefined when there was none. */
  parent: string | undefined;
};

async function watch(path: string, look: (parent: HeldDirectory, name: string) => Promise<Memory>): Promise<Watch> {
  const parent = identityAt(dirname(path));
  if (parent === undefined) return { path, memory: { kind: "missing" }, parent };
  using directory = HeldDirectory.open(dirname(path));
  return { path, memory: await look(directory, basename(path)), parent };
}

async function mend(watch: Watch, mending: Mending, roots: readonly string[]): Promise<void> {
  const { memory, path } = watch;
  // Where there is not even the directory nothing can have appeared.
  if (memory.kind === "missing" && identityAt(dirname(path)) === undefined) return;
  try {
    const now = await settle(watch, mending, roots);
    using parent = HeldDirectory.open(dirname(now), { create: true });
    await putBack(memory, { parent, name: basename(now), mending });
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof Replaced)) throw error;
    mending.lost.add(path);
    mending.error ??= errnoOf(error) === undefined ? messageOf(error) : reasonOf(error);
  }
}

/** Where it is to be mended: at its place, to which it is brought back, or below a directory that was renamed with it. */
async function settle({ memory, path, parent }: Watch, mending: Mending, roots: readonly string[]): Promise<string> {
  if (memory.kind === "missing") return path;
  const identity = identityOf(memory.stats);
  if (identityAt(path) === identity) return path;
  // A file is written anew from memory, wherever the old one is; a directory has more in it than that.
  if (memory.kind !== "directory" && identityAt(dirname(path)) === parent) return path;
  const found = await findAgain(identity, roots);
  if (found === undefined) return path;
  if (basename(found) === basename(path) && identityAt(dirname(found)) === parent) return found;
  await bringBack(found, path, mending);
  return path;
}

async function bringBack(found: string, path: string, mending: Mending): Promise<void> {
  using from = HeldDirectory.open(dirname(found));
  using to = HeldDirectory.open(dirname(path), { create: true });
  await putBack({ kind: "missing" }, { parent: to, name: basename(path), mending });
  renameSync(from.at(basename(found)), to.at(basename(path)));
  mending.putBack.add(path);
}

function findingsOf(repository: string, { putBack, lost, error }: Mending): readonly Finding[] {
  const named = (paths: ReadonlySet<string>) =>
    [...paths].map((path) => (isBelow(path, repository) ? relative(repository, path) || basename(path) : path));
  if (putBack.size + lost.size === 0) return [];
  const [parts, gone] = [named(putBack), named(lost)];
  return [{ kind: "restored", path: repository, parts, lost: gone, ...(error !== undefined && { error }) }];
}
