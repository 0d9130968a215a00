import { folded } from "../../files/path.ts";
import { isToolConfigName } from "../../sandbox/policy/toolconfig.ts";

/** How a repository, or the configuration of koda or another tool, shows itself in a directory. */
export type Form =
  /** An entry by the name of `.git`: a directory, a file that says where the directory is, or a symlink. */
  | "git"
  /** An entry by the name of `.koda`. */
  | "koda"
  /** An entry that tells another tool what to run, or the target of one. */
  | "config"
  /** One by the name of `.hg` or `.jj`: Mercurial and Jujutsu run what stands in theirs, as git does. */
  | "other"
  /** A directory that has what a git directory has, under any name. */
  | "bare"
  /** The target of a `.git` or `.koda` elsewhere, or a place on the way to it. */
  | "target";

/** The form of an entry, by its name alone; capitals do not matter on every file system. */
export function formOfName(name: string): "git" | "koda" | "other" | "config" | undefined {
  const plain = folded(name);
  return forms.get(plain) ?? (isToolConfigName(plain) ? "config" : undefined);
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
