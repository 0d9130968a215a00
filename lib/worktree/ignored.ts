import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Entry } from "../files/entry.ts";
import { ancestors } from "../files/path.ts";
import { readSmallText } from "../files/read.ts";
import { isIgnored, marksIn, rulesFrom, rulesIn } from "../tools/search/rules.ts";

type OldRules = {
  root: string;
  scratch: string;
  /** The entry that a path had; undefined when it is as it was. */
  entryBefore: (path: string) => Entry | undefined;
};

const name = ".gitignore";

export function isRules(path: string): boolean {
  return basename(path) === name;
}

/**
 * Tells which files were ignored by the rules that held before some of these changed: such a file is not new, and of
 * what it was nothing is known.
 */
export function ignoredBefore({ root, scratch, entryBefore }: OldRules): (path: string) => boolean {
  // A tree of nothing but the old rules.
  const shadow = mkdtempSync(join(scratch, "rules-"));
  const written = new Set<string>();
  const writeRules = (directory: string) => {
    if (written.has(directory)) return;
    written.add(directory);
    const path = join(directory, name);
    const before = entryBefore(path);
    const content =
      before === undefined
        ? readSmallText(path, { isReal: true })
        : before.kind === "file"
          ? before.content?.read()
          : undefined;
    const target = join(shadow, relative(root, directory));
    mkdirSync(target, { recursive: true });
    if (content !== undefined) writeFileSync(join(target, name), content);
  };
  return (path) => {
    const above = ancestors(dirname(path));
    const directories = above.slice(0, above.indexOf(root) + 1).reverse();
    for (const directory of directories) writeRules(directory);
    const [, ...places] = [...directories, path].map((each) => join(shadow, relative(root, each)));
    let rules = rulesFrom(shadow, marksIn(shadow));
    for (const [index, place] of places.entries()) {
      const isDirectory = index < places.length - 1;
      if (isIgnored(rules, place, isDirectory)) return true;
      if (isDirectory) rules = rulesIn(place, marksIn(place), rules);
    }
    return false;
  };
}
