import { dirname } from "node:path";

/** Is it the directory itself, or something in it? Both without a symlink. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/**
 * Refusals are compared without capitals and Unicode forms: on a file system that does not tell `.GIT` from `.git`
 * they are the same directory, and on the others no one misses it.
 */
export function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

/** Is it one of the directories or in one, by names that are folded? */
export function isInFolded(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => isBelow(folded(path), folded(directory)));
}

/** The directory itself, its parent, and so on up to the root. */
export function ancestors(directory: string): string[] {
  const parent = dirname(directory);
  return parent === directory ? [directory] : [directory, ...ancestors(parent)];
}
