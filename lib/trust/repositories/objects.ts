import { readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";

/**
 * The packs of a repository and its directories of loose objects, by name. They are too much to keep, so no guard can
 * restore them; but a history must not be lost without a word.
 */
export function objectsIn(gitDirectory: string): ReadonlySet<string> {
  const objects = join(gitDirectory, "objects");
  const names = (path: string) => unlessRefused(() => readdirSync(path)) ?? [];
  const loose = names(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return new Set([...loose, ...names(join(objects, "pack")).filter((name) => name.endsWith(".pack"))]);
}

/** Those that are gone. A new pack may hold what was in them: git itself removes the old ones then. */
export function missingObjects(before: ReadonlySet<string>, now: ReadonlySet<string>): readonly string[] {
  const isRepacked = [...now].some((name) => name.endsWith(".pack") && !before.has(name));
  return isRepacked ? [] : [...before].filter((name) => !now.has(name));
}
