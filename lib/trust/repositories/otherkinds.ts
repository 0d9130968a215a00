import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { folded } from "../../files/path.ts";
import { HeldDirectory } from "../../files/held.ts";
import { type Danger, unknownEntry, unlessUnreadable } from "./contents.ts";
import { textIn } from "./pointers.ts";

/**
 * Why the user's next `hg status` or `jj log` could run something by what is in a `.hg` or `.jj`; undefined when it
 * could not. As with git everything passes that is known to be harmless, and nothing else.
 */
export function whyOtherDangerous(path: string): string | undefined {
  return unlessUnreadable(() => dangersBelow(path, folded(basename(path))))[0]?.reason;
}

/** The git directory that Jujutsu made for itself in a `.jj`. */
export function gitInside(path: string): string | undefined {
  const inner = join(path, "repo/store/git");
  return existsSync(inner) ? inner : undefined;
}

function* dangersBelow(path: string, known: string): Generator<Danger> {
  using directory = HeldDirectory.open(path);
  for (const name of directory.names()) {
    const part = `${known}/${name}`;
    const stats = directory.look(name);
    if (stats === undefined || isHarmlessFile(directory, name, part)) continue;
    if (stats.isSymbolicLink() || harmlessEntries.get(known)?.test(name) !== true) yield unknownEntry(name);
    else if (harmlessEntries.has(part)) yield* dangersBelow(join(path, name), part);
  }
}

function isHarmlessFile(directory: HeldDirectory, name: string, part: string): boolean {
  const lines = harmlessLines.get(part);
  return (
    lines !== undefined &&
    !textIn(directory, name)
      .split("\n")
      .some((line) => !lines.test(line))
  );
}

const harmlessEntries: ReadonlyMap<string, RegExp> = new Map([
  [
    ".hg",
    /^(00changelog\.i|requires|branch|bookmarks(\.current)?|dirstate(\..*)?|(undo|journal)\..*|last-message\.txt|w?lock|store|w?cache|strip-backup|\..*~)$/,
  ],
  [".jj", /^(\.gitignore|repo|working_copy)$/],
  [".jj/repo", /^(index|op_heads|op_store|store|submodule_store)$/],
]);

/** Those that `hg clone` and `jj git clone` write. */
const harmlessLines: ReadonlyMap<string, RegExp> = new Map([
  [
    ".hg/hgrc",
    /^(|[#;].*|\[(paths|ui)\]|username = .*|default(-push)? = ((https?|ssh|file):\/\/(?!-)[^\s@]+(@(?!-)\S+)?|\/\S*))$/,
  ],
  [".jj/repo/config.toml", /^(|#.*|\[revset-aliases\]|"trunk\(\)" = "[\w@/.-]*")$/],
]);
