import { dirname, isAbsolute, join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { ancestors, isBelow } from "../../files/path.ts";
import { realPaths } from "../../files/real.ts";
import { gitPlaces } from "../../git/places.ts";
import { parseConfig, type GitSetting } from "./config.ts";
import { whySettingDangerous } from "./keys.ts";
import { isInside, textAt } from "./pointers.ts";
import type { FoundRepository } from "./tree.ts";

/** The configuration files of git that hold for every repository of the user's. */
export type GitConfigurations = { home: string; files: readonly string[] };

/** The files of `git config --global` and `--system`, as git finds them. */
export function gitConfigurations(env: Readonly<Record<string, string | undefined>>, home: string): GitConfigurations {
  const { GIT_CONFIG_GLOBAL: named, XDG_CONFIG_HOME: base = join(home, ".config") } = env;
  const own = named === undefined ? [join(base, "git/config"), join(home, ".gitconfig")] : [named];
  return { home, files: ["/etc/gitconfig", ...own].filter(isAbsolute) };
}

/**
 * Paths below the roots that an existing configuration of git names: a directory of hooks, files that it includes,
 * programs. git runs and obeys what lies there as if it lay in `.git`.
 */
export function pathsNamedByGit(
  repositories: readonly FoundRepository[],
  roots: readonly string[],
  { home, files }: GitConfigurations,
): readonly string[] {
  const tops = repositories.filter(({ form }) => form === "git").map(({ path }) => dirname(path));
  const named = new Set<string>();
  for (const top of [...tops, ...roots]) {
    const places = gitPlaces(top);
    const own = places === undefined ? [] : [join(places.common, "config"), join(places.directory, "config.worktree")];
    const read = new Set<string>();
    const pending = [...own, ...files];
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      if (read.size > mostFiles || read.has(file)) continue;
      read.add(file);
      for (const setting of settingsIn(file)) {
        const paths = pathsIn(setting, { top, file, home }).flatMap(realPaths);
        if (isInclude(setting)) pending.push(...paths);
        for (const path of paths) if (isInside(path, roots)) named.add(path);
      }
    }
  }
  // Protecting a root, or a directory above the repositories, would protect the whole project.
  const isTooMuch = (path: string) => [...roots, ...tops].some((top) => ancestors(top).includes(path));
  return [...named].filter((path) => !isTooMuch(path) && !repositories.some((found) => isBelow(path, found.path)));
}

/** Files that include each other. */
const mostFiles = 50;

function settingsIn(file: string): readonly GitSetting[] {
  const text = unlessRefused(() => textAt(realPaths(file).at(-1) ?? file));
  return (text === undefined ? undefined : parseConfig(text)) ?? [];
}

function isInclude({ section, variable }: GitSetting): boolean {
  return (section === "include" || section === "includeif") && variable === "path";
}

type Base = { top: string; file: string; home: string };

/** Hooks and commands are relative to the top of the work tree, includes to the file that they stand in. */
function pathsIn(setting: GitSetting, { top, file, home }: Base): string[] {
  const { section, variable, value } = setting;
  if (value === true || value === "") return [];
  if (whySettingDangerous(setting, { gitDirectory: dirname(file), roots: [] }) === undefined) return [];
  const base = isInclude(setting) ? dirname(file) : top;
  const isPath = isInclude(setting) || (section === "core" && variable === "hookspath");
  const words = isPath ? [value] : value.split(/[\s'"=;|&()]+/).filter((word) => word.includes("/"));
  return words
    .map((word) => word.replace(/^!/, "").replace(/^~(?=\/)/, home))
    .map((word) => (isAbsolute(word) ? word : join(base, word)));
}
