import { dirname, isAbsolute, join } from "node:path";
import { readSmallText } from "../files/read.ts";
import { followPath, type Walk } from "../files/walk.ts";

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
  return followPath(isAbsolute(written) ? written : `${directory}/${written}`, { follow: true });
}

/** Real paths of a repository: its git directory, and the one that it shares with others, which may be the same. */
export type GitPlaces = { directory: string; common: string };

/** The repository of the work tree that has its top here: in `.git`, or where a file by that name says. */
export function gitPlaces(top: string): GitPlaces | undefined {
  const path = join(top, ".git");
  const entry = followPath(path, { follow: true });
  const directory = entry.kind === "directory" ? entry : pointersAt(path, entry)[0];
  if (directory?.kind !== "directory" || directory.fault !== undefined) return undefined;
  const [common = directory] = pointersAt(path, directory);
  return { directory: directory.real, common: common.real };
}

/**
 * Every place that a `.git` or `.koda` leads to or passes on the way, as real paths: symlinks, the directory that a
 * file points at, and the directory that is common to several work trees. Who could change one of them could change
 * what git finds.
 */
export function leadsTo(path: string): readonly string[] {
  const places = new Set<string>();
  const pending: Walk[] = [followPath(path, { follow: true })];
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
  if (kind === "directory") return followed(real, pathIn(readSmallText(join(real, "commondir"))));
  if (kind !== "file") return [];
  const written = gitdirIn(readSmallText(real));
  // git takes it relative to where it found the entry, which may have been a symlink to the file.
  return [...new Set([dirname(path), dirname(real)])].flatMap((directory) => followed(directory, written));
}

function followed(directory: string, written: string | undefined): Walk[] {
  return written === undefined ? [] : [follow(directory, written)];
}
