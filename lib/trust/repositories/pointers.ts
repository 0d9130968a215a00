import { readFileSync } from "node:fs";
import { basename, dirname, isAbsolute } from "node:path";
import { errnoOf } from "../../errors.ts";
import { HeldDirectory, Replaced } from "../../files/held.ts";
import { isBelow } from "../../files/path.ts";
import { walk, type Walk } from "../../files/walk.ts";

/** git reads no more from a file that points somewhere, and nobody writes more into a configuration. */
const mostBytes = 1024 * 1024;

/** The text of a regular file in a git directory; throws for anything else, and for one that is too large. */
export function textIn(directory: HeldDirectory, name: string): string {
  using file = directory.openFile(name);
  if (file.stats.size > mostBytes) throw new TooLarge(name);
  return readFileSync(file.descriptor, "utf8");
}

class TooLarge extends Error {
  override readonly name = "TooLarge";

  constructor(name: string) {
    super(`"${name}" in it is larger than 1 MB`);
  }
}

/** The same for a real path. */
export function textAt(real: string): string {
  using directory = HeldDirectory.open(dirname(real));
  return textIn(directory, basename(real));
}

/** The path in a `.git` file, as it was written; undefined when git would not understand it. */
export function gitdirIn(text: string): string | undefined {
  return /^gitdir: ([^\0]+?)[\r\n]*$/.exec(text)?.[1];
}

/** The path in a `commondir` or `gitdir` file; undefined when there is none, or more than one. */
export function pathIn(text: string): string | undefined {
  return /^([^\0\r\n]+)[\r\n]*$/.exec(text)?.[1];
}

/** Follows a path that was written in a file of this directory. */
export function follow(directory: string, written: string): Walk {
  // Not node's join(): it would take `link/..` by its letters, before the link was looked at.
  return walk(isAbsolute(written) ? written : `${directory}/${written}`, { follow: true });
}

/**
 * Every place that a `.git` or `.koda` leads to or passes on the way, as real paths: symlinks, the directory that a
 * file points at, and the directory that is common to several work trees. Who could change one of them could change
 * what git finds.
 */
export function leadsTo(path: string): readonly string[] {
  const places = new Set<string>();
  const pending: Walk[] = [walk(path, { follow: true })];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const place of next.followed) places.add(place);
    if (next.fault === undefined) places.add(next.real);
    // A chain longer than this is no repository that git could use.
    if (places.size > mostPlaces) break;
    pending.push(...pointersAt(path, next).filter(({ real }) => !places.has(real)));
  }
  places.delete(path);
  return [...places];
}

const mostPlaces = 100;

function pointersAt(path: string, { real, kind, fault }: Walk): Walk[] {
  if (fault !== undefined) return [];
  if (kind === "directory") return followed(real, pathIn(textOrNone(`${real}/commondir`)));
  if (kind !== "file") return [];
  const written = gitdirIn(textOrNone(real));
  // git takes it relative to where it found the entry, which may have been a symlink to the file.
  return [...new Set([dirname(path), dirname(real)])].flatMap((directory) => followed(directory, written));
}

function followed(directory: string, written: string | undefined): Walk[] {
  return written === undefined ? [] : [follow(directory, written)];
}

/** What cannot be read leads nowhere: the judge of a repository, who reads it too, says that it could not. */
function textOrNone(real: string): string {
  try {
    return textAt(real);
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof Replaced || error instanceof TooLarge)) throw error;
    return "";
  }
}

/** Is it in one of the writable roots, or one itself? */
export function isInside(real: string, roots: readonly string[]): boolean {
  return roots.some((root) => isBelow(real, root));
}

export function whyOutside(real: string, roots: readonly string[]): string | undefined {
  return isInside(real, roots) ? undefined : `it points to "${real}", outside the writable directories`;
}
