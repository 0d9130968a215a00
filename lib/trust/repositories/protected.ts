import { dirname } from "node:path";
import { isBelow } from "../../files/path.ts";
import { isInside } from "./pointers.ts";
import { RepositoryTree, type Found, type Look } from "./tree.ts";
import { identityAt } from "./identity.ts";

/**
 * What decides which code git and koda will run, below the writable roots, as it was when the run began: none of it is a
 * command's to change. What appears later is not protected, since it may be what the command is for; see `NewRepositories`.
 */
export class ProtectedPaths {
  readonly #tree: RepositoryTree;
  readonly #identities: Set<string>;
  readonly #directories: ReadonlySet<string>;
  #last: Look;

  private constructor(tree: RepositoryTree, first: Look) {
    this.#tree = tree;
    this.#identities = new Set(first.found.map(({ identity }) => identity));
    this.#directories = first.directories;
    this.#last = first;
  }

  /** Looks through the roots, but for directories in them that commands cannot reach. All paths are real. */
  static async find(
    roots: readonly string[],
    signal: AbortSignal,
    { except = [] }: { except?: readonly string[] } = {},
  ): Promise<ProtectedPaths> {
    const tree = new RepositoryTree(roots, except);
    return new ProtectedPaths(tree, await tree.look(signal));
  }

  get roots(): readonly string[] {
    return this.#tree.roots;
  }

  /** Is this where commands may write? */
  isReached(path: string): boolean {
    return isInside(path, this.roots) && !isInside(path, this.#tree.except);
  }

  /**
   * Where they were at the last look. Nothing is listed that lies below another, and a symlink is listed itself, beside
   * what it leads to: no mount can hold a symlink in its place, but a `Guard` puts it back.
   */
  get entries(): readonly Found[] {
    const known = this.known;
    const directories = new Set(known.filter(({ kind }) => kind === "directory").map(({ path }) => path));
    return known.filter(({ path }) => !hasAbove(path, directories));
  }

  get paths(): readonly string[] {
    return this.entries.map(({ path }) => path);
  }

  /** All that was there at the beginning and still is, wherever it is now. */
  get known(): readonly Found[] {
    return this.#last.found.filter(({ identity }) => this.#identities.has(identity));
  }

  /** What has appeared since the beginning, or taken the place of what was there. */
  get appeared(): readonly Found[] {
    return this.#last.found.filter(({ identity }) => !this.#identities.has(identity));
  }

  /** Directories that could not be looked into, where anything may be. */
  get unreadable(): readonly string[] {
    return this.#last.unreadable;
  }

  /** Was this directory there at the beginning, whatever it is now? */
  wasThere(identity: string): boolean {
    return this.#directories.has(identity);
  }

  /** What lies at a path, and in it, was made anew as it was at the beginning, so it counts as the same. */
  accept(restored: string): void {
    for (const { path } of this.known) {
      const identity = isBelow(path, restored) ? identityAt(path) : undefined;
      if (identity !== undefined) this.#identities.add(identity);
    }
  }

  /** Looks again. */
  async look(signal: AbortSignal): Promise<void> {
    this.#last = await this.#tree.look(signal);
  }
}

function hasAbove(path: string, directories: ReadonlySet<string>): boolean {
  const parent = dirname(path);
  return parent !== path && (directories.has(parent) || hasAbove(parent, directories));
}
