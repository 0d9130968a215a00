import { dirname } from "node:path";
import { SerialQueue } from "../../async/serialqueue.ts";
import { isInside } from "./pointers.ts";
import { RepositoryTree, type FoundRepository, type ConfigRules, type TreeLook } from "./tree.ts";
import { identityAt } from "./identity.ts";

/** Identities of what was protected at a path and of what lies there now. */
export type Replacement = { path: string; was: string; is: string | undefined };

type IsKnown = (found: FoundRepository) => boolean;

type FindOptions = { except?: readonly string[]; isKnown?: IsKnown; config?: ConfigRules };

/**
 * The paths below the writable roots that decide which code git and koda will run, as they were when the run began:
 * none of them is a command's to change. Later ones are not protected, since they may be what the command is for; see
 * `NewRepositories`.
 */
export class ProtectedPaths {
  readonly #tree: RepositoryTree;
  /** By identities, with the paths: files and symlinks get a second one by a hard link. */
  readonly #places: Map<string, ReadonlySet<string>>;
  /** Of looks and restorations: half of one is what another would take for a command's doing. */
  readonly turns = new SerialQueue();
  readonly #first: Pick<TreeLook, "directories" | "places">;
  #last: TreeLook;

  private constructor(tree: RepositoryTree, first: TreeLook, isKnown: IsKnown) {
    this.#tree = tree;
    this.#places = placesOf(first.found.filter(isKnown));
    this.#first = first;
    this.#last = first;
  }

  /**
   * Looks through the roots, but for directories in them that commands cannot reach. All paths are real. With `isKnown`
   * only those were there at the beginning: the rest came with commands of an earlier run.
   */
  static async find(
    roots: readonly string[],
    signal: AbortSignal,
    { except = [], isKnown = () => true, config }: FindOptions = {},
  ): Promise<ProtectedPaths> {
    const tree = new RepositoryTree(roots, except, config);
    return new ProtectedPaths(tree, await tree.look(signal), isKnown);
  }

  get roots(): readonly string[] {
    return this.#tree.roots;
  }

  /** Is this where commands may write? */
  isReached(path: string): boolean {
    return isInside(path, this.roots) && !isInside(path, this.#tree.except);
  }

  /**
   * The paths as of the last look. Nothing is listed that lies below another, and a symlink is listed itself, beside
   * what it leads to: no mount can hold a symlink in its place, but a `Guard` restores it.
   */
  get entries(): readonly FoundRepository[] {
    const known = this.known;
    const directories = new Set(known.filter(({ kind }) => kind === "directory").map(({ path }) => path));
    return known.filter(({ path }) => !hasAbove(path, directories));
  }

  get paths(): readonly string[] {
    return this.entries.map(({ path }) => path);
  }

  /** All that was there at the beginning and still is, wherever it is now. */
  get known(): readonly FoundRepository[] {
    return this.#last.found.filter((found) => this.#isSame(found));
  }

  /** Everything that has appeared since the beginning, or taken the place of what was there. */
  get appeared(): readonly FoundRepository[] {
    return this.#last.found.filter((found) => !this.#isSame(found));
  }

  /** By its identity, but no file that is still where it was by another path. */
  #isSame({ identity, path, kind }: FoundRepository): boolean {
    const places = this.#places.get(identity);
    if (places === undefined || places.has(path) || kind === "directory") return places !== undefined;
    return ![...places].some((place) => identityAt(place) === identity);
  }

  /** Everything that tells other tools what to run, protected or not. */
  get configs(): readonly string[] {
    return this.#last.configs;
  }

  /** Directories that could not be looked into, where anything may be. */
  get unreadable(): readonly string[] {
    return this.#last.unreadable;
  }

  /** Directories whose names are not UTF-8, which are not looked into either. */
  get odd(): readonly Buffer[] {
    return this.#last.odd;
  }

  /** Does everything that is protected still lie where it was at the last look? */
  areInPlace(): boolean {
    return this.known.every(({ path, identity }) => identityAt(path) === identity);
  }

  /** Was this directory there at the beginning, whatever it is now? */
  wasThere(identity: string): boolean {
    return this.#first.directories.has(identity);
  }

  /** Is this directory one of those, or in the place of one? */
  isOld(path: string): boolean {
    return this.#first.places.has(path) || this.wasThere(identityAt(path) ?? "");
  }

  /** Takes what was restored for what was there at the beginning, and no longer what it replaced. */
  replace(replacements: readonly Replacement[]): void {
    for (const { path, was } of replacements) {
      // It may be protected in another place, as a file is that has two names.
      const others = [...(this.#places.get(was) ?? [])].filter((one) => one !== path && identityAt(one) === was);
      this.#places.delete(was);
      if (others.length > 0) this.#places.set(was, new Set(others));
    }
    const now = new Map(replacements.map(({ path, is }) => [path, is]));
    for (const [path, is] of now)
      if (is !== undefined) this.#places.set(is, new Set([...(this.#places.get(is) ?? []), path]));
    const found = this.#last.found.map((one) => ({ ...one, identity: now.get(one.path) ?? one.identity }));
    this.#last = { ...this.#last, found };
  }

  /** Looks again. */
  async look(signal: AbortSignal): Promise<void> {
    this.#last = await this.#tree.look(signal);
  }

  /** The same while no command runs: an editor may have saved a file by putting another one in its place. */
  async lookAfterUser(signal: AbortSignal): Promise<void> {
    const before = this.known.filter(({ form }) => form === "config");
    await this.look(signal);
    const there = new Set(this.#last.found.map(({ identity }) => identity));
    const gone = new Set(before.filter(({ identity }) => !there.has(identity)).map(({ path }) => path));
    for (const { path, form, identity } of this.appeared)
      if (form === "config" && gone.has(path)) this.#places.set(identity, new Set([path]));
  }
}

function placesOf(found: readonly FoundRepository[]): Map<string, ReadonlySet<string>> {
  const places = new Map<string, Set<string>>();
  for (const { identity, path } of found) places.set(identity, (places.get(identity) ?? new Set()).add(path));
  return places;
}

function hasAbove(path: string, directories: ReadonlySet<string>): boolean {
  const parent = dirname(path);
  return parent !== path && (directories.has(parent) || hasAbove(parent, directories));
}
