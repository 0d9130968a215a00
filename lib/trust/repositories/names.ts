import { folded } from "../../files/path.ts";

/** How a repository, or koda's own configuration, shows itself in a directory. */
export type Form =
  /** An entry by the name of `.git`: a directory, a file that says where the directory is, or a symlink. */
  | "git"
  /** An entry by the name of `.koda`. */
  | "koda"
  /** One by the name of `.hg` or `.jj`: Mercurial and Jujutsu run what stands in theirs, as git does. */
  | "other"
  /** A directory that has what a git directory has, under any name. */
  | "bare"
  /** The target of a `.git` or `.koda` elsewhere, or a place on the way to it. */
  | "target";

/** The form of an entry, by its name alone; capitals do not matter on every file system. */
export function formOfName(name: string): "git" | "koda" | "other" | undefined {
  return forms.get(folded(name));
}

const forms: ReadonlyMap<string, "git" | "koda" | "other"> = new Map([
  [".git", "git"],
  [".koda", "koda"],
  [".hg", "other"],
  [".jj", "other"],
]);

/** Would git take the directory with these entries for a repository? A `commondir` says that the rest is elsewhere. */
export function isLaidOutBare(names: readonly string[]): boolean {
  const has = new Set(names.map(folded));
  return has.has("head") && (has.has("commondir") || (has.has("objects") && has.has("refs")));
}
