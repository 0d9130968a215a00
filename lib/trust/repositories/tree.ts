import { readdirSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { kindOf } from "../../files/walk.ts";
import { leadsTo } from "../../git/places.ts";
import { isHarmlessEntry } from "../../sandbox/policy/toolconfig.ts";
import { identityOf, statsAt } from "./identity.ts";
import { listDirectory, type Listing, type RepositoryMark } from "./listing.ts";
import type { Form } from "./names.ts";
import { isInside } from "./pointers.ts";

export type FoundRepository = {
  /** Real but for its last part, which may be a symlink itself. */
  path: string;
  form: Form;
  kind: ReturnType<typeof kindOf>;
  /** Tells it from another thing that takes its place, and finds it again after a rename. */
  identity: string;
  /** For what was found only because something leads to it: the identities of that. */
  from: readonly string[];
};

export type TreeLook = {
  found: readonly FoundRepository[];
  /** Directories that could not be looked into. */
  unreadable: readonly string[];
  /** Directories whose names are not UTF-8, which are not looked into either. */
  odd: readonly Buffer[];
  /** The identities of those that could, and their paths. */
  directories: ReadonlySet<string>;
  places: Pick<ReadonlyMap<string, unknown>, "has">;
  /** Everything that tells other tools what to run, protected or not. */
  configs: readonly string[];
};

/** Does a path tell other tools what to run? Unless it is open, that stays as it is. */
export type ConfigRules = { isConfig: (path: string) => boolean; isOpen: boolean };

/**
 * Finds the repositories below some directories, again and again: the second look asks of each directory only whether
 * it changed since, and reads those that did.
 */
export class RepositoryTree {
  readonly roots: readonly string[];
  /** Directories that are not looked into. */
  readonly except: readonly string[];
  readonly #config: ConfigRules;
  #listings: ReadonlyMap<string, Listing> = new Map();

  constructor(
    roots: readonly string[],
    except: readonly string[],
    config: ConfigRules = { isConfig: () => false, isOpen: false },
  ) {
    this.roots = roots;
    this.except = except;
    this.#config = config;
  }

  async look(signal: AbortSignal): Promise<TreeLook> {
    const listings = new Map<string, Listing>();
    const unreadable: string[] = [];
    const pending = [...this.roots];
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      if (listings.has(path) || notFiles.has(path) || this.except.includes(path)) continue;
      const known = this.#listings.get(path);
      const listing = listDirectory(path, known);
      if (listing === undefined) {
        unreadable.push(path);
        continue;
      }
      listings.set(path, listing);
      pending.push(...listing.directories);
      if (listing !== known || listings.size % cachedAtOnce === 0) await yieldToEventLoop(signal);
    }
    this.#listings = listings;
    const all = [...listings.values()];
    const { isConfig, isOpen } = this.#config;
    const every = all.flatMap((listing) => listing.marks);
    const configs = every.flatMap(({ path, form }) => (form === "config" && isConfig(path) ? path : []));
    const kept = new Set(isOpen ? [] : configs);
    const marks = every.filter(({ path, form }) => form !== "config" || kept.has(path));
    const directories = new Set(all.map(({ identity }) => identity));
    const odd = all.flatMap((listing) => listing.odd);
    return { found: withTargets(marks, this.roots), unreadable, odd, directories, places: listings, configs };
  }
}

/** In case `/` is ever made writable: there are no repositories in these, and there is no end to them. */
const notFiles: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev"]);

const cachedAtOnce = 64;

/** Without what lies outside of the roots, which nothing that runs in the sandbox could change. */
function withTargets(marks: readonly RepositoryMark[], roots: readonly string[]): readonly FoundRepository[] {
  const marked = new Map<string, FoundRepository>();
  for (const { path, form } of marks) {
    const found = foundAt(path, form);
    if (found !== undefined) marked.set(path, found);
  }
  const targets = new Map<string, FoundRepository>();
  for (const { path: start, form, kind, identity } of marked.values()) {
    const ways = form === "config" ? configLinks(start, kind) : [start];
    // To protect a root would protect the whole project.
    const isTooMuch = (path: string) => form === "config" && roots.some((root) => isBelow(root, path));
    const goals = ways
      .flatMap(leadsTo)
      .filter((path) => isInside(path, roots) && !marked.has(path) && !isTooMuch(path));
    for (const path of goals) {
      const target = targets.get(path) ?? foundAt(path, form === "koda" || form === "config" ? form : "target");
      if (target !== undefined) targets.set(path, { ...target, from: [...target.from, identity] });
    }
  }
  return [...marked.values(), ...targets.values()];
}

/** The symlinks by which the configuration of a tool leads elsewhere: itself, or entries of it. */
function configLinks(path: string, kind: FoundRepository["kind"]): readonly string[] {
  if (kind !== "directory") return kind === "symlink" ? [path] : [];
  const entries = unlessRefused(() => readdirSync(path, { withFileTypes: true })) ?? [];
  return entries
    .filter((entry) => entry.isSymbolicLink() && !isHarmlessEntry(path, entry.name))
    .map(({ name }) => join(path, name));
}

function foundAt(path: string, form: Form): FoundRepository | undefined {
  const stats = unlessRefused(() => statsAt(path));
  return stats && { path, form, kind: kindOf(stats), identity: identityOf(stats), from: [] };
}
