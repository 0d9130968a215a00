import { existsSync, lstatSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { ancestors, isBelow } from "../../files/path.ts";
import { realPaths } from "../../files/real.ts";
import { followPath } from "../../files/walk.ts";
import { gitPlaces, leadsTo } from "../../git/places.ts";
import { parseConfig, type GitSetting } from "./config.ts";
import { whySettingDangerous } from "./keys.ts";
import { filesLoadedBy } from "./loaded.ts";
import { innerRepositories } from "./parts.ts";
import { isInside, textAt } from "./pointers.ts";
import type { FoundRepository } from "./tree.ts";

/** The configuration files of git that hold for every repository of the user's. */
export type GitConfigurations = { home: string; files: readonly string[] };

/** The files of `git config --global` and `--system`, as git finds them. */
export function gitConfigurations(env: Readonly<Record<string, string | undefined>>, home: string): GitConfigurations {
  const { GIT_CONFIG_GLOBAL: named, GIT_CONFIG_SYSTEM: system = "/etc/gitconfig" } = env;
  const { XDG_CONFIG_HOME: base = join(home, ".config") } = env;
  const own = named === undefined ? [join(base, "git/config"), join(home, ".gitconfig")] : [named];
  return { home, files: [system, ...own].filter(isAbsolute) };
}

/**
 * Paths below the roots that an existing configuration of git names or a repository links to: a directory of hooks,
 * files that it includes, programs. git runs and obeys what lies there as if it lay in `.git`.
 */
export function pathsNamedByGit(
  repositories: readonly FoundRepository[],
  roots: readonly string[],
  configurations: GitConfigurations,
): readonly string[] {
  const below = repositories.filter(({ form }) => form === "git").map(({ path }) => dirname(path));
  const tops = [...new Set([...below, ...roots.flatMap(topAbove), ...roots])];
  const git = readOnce(configurations);
  const named = new Set(
    tops.flatMap((top) => {
      const places = gitPlaces(top);
      const both = places === undefined ? [] : [places.common, places.directory];
      const own = [...new Set([...both, ...both.slice(0, 1).flatMap((common) => innerRepositories(common))])];
      return [...namedIn(top, configurationsIn(own), git), ...own.flatMap(linkedFrom)];
    }),
  );
  // Protecting a root, or a directory above the repositories, would protect the whole project.
  const isTooMuch = (path: string) => [...roots, ...tops].some((top) => ancestors(top).includes(path));
  const isOwn = (path: string) => repositories.some((found) => isBelow(path, found.path));
  return [...named].filter((path) => isInside(path, roots) && !isTooMuch(path) && !isOwn(path));
}

/** The top of the work tree in which a directory lies. */
function topAbove(directory: string): readonly string[] {
  const top = ancestors(directory).find((above) => existsSync(join(above, ".git")) && gitPlaces(above) !== undefined);
  return top === undefined ? [] : [top];
}

/** The goals of symlinks in the place of what git runs and obeys in its directory, which is a real path. */
function linkedFrom(gitDirectory: string): readonly string[] {
  const hooks = join(gitDirectory, "hooks");
  const inside = (unlessRefused(() => readdirSync(hooks)) ?? []).map((name) => join(hooks, name));
  const parts = ["hooks", "config", "config.worktree", "info"].map((name) => join(gitDirectory, name));
  return [...parts, ...inside].filter(isLink).flatMap((path) => {
    const { real, followed } = followPath(path, { follow: true });
    return [real, ...followed];
  });
}

function isLink(path: string): boolean {
  return unlessRefused(() => lstatSync(path).isSymbolicLink()) ?? false;
}

/** Configurations of which each file is read once, though it holds for every work tree. */
export type ReadConfigurations = GitConfigurations & { settingsOf: (file: string) => readonly GitSetting[] };

export function readOnce(configurations: GitConfigurations): ReadConfigurations {
  const known = new Map<string, readonly GitSetting[]>();
  const settingsOf = (file: string) => {
    const settings = known.get(file) ?? settingsIn(file);
    known.set(file, settings);
    return settings;
  };
  return { ...configurations, settingsOf };
}

function settingsIn(file: string): readonly GitSetting[] {
  if (!existsSync(file)) return [];
  const text = unlessRefused(() => textAt(realPaths(file).at(-1) ?? file));
  return (text === undefined ? undefined : parseConfig(text)) ?? [];
}

/**
 * The paths below the top of a work tree that are there and that the user's own configuration names: the one for all
 * repositories, and the one of a repository that this `.git` leads to.
 */
export function namedByUser(repository: string, git: ReadConfigurations): readonly string[] {
  const top = dirname(repository);
  const own = configurationsIn([repository, ...leadsTo(repository)]);
  return namedIn(top, own, git).filter((path) => isBelow(path, top) && existsSync(path));
}

function configurationsIn(gitDirectories: readonly string[]): readonly string[] {
  return gitDirectories.flatMap((directory) => ["config", "config.worktree"].map((name) => join(directory, name)));
}

/** Directories of hooks that git copies into each new repository, as far as no command can write there. */
export function templateHooks(git: ReadConfigurations, roots: readonly string[]): readonly string[] {
  const isTemplate = ({ section, variable }: GitSetting) => section === "init" && variable === "templatedir";
  const directories = [...namedIn("/", [], git, isTemplate), "/usr/share/git-core/templates"];
  return directories
    .flatMap((directory) => realPaths(join(directory, "hooks")).at(-1) ?? [])
    .filter((directory) => !isInside(directory, roots));
}

/** For a work tree, by its own configuration files and those of the user. */
function namedIn(
  top: string,
  own: readonly string[],
  { home, files, settingsOf }: ReadConfigurations,
  isWanted: (setting: GitSetting) => boolean = () => true,
): readonly string[] {
  const named = new Set<string>();
  const read = new Set<string>();
  const pending = [...own, ...files];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (read.size > mostFiles || read.has(file)) continue;
    read.add(file);
    for (const setting of settingsOf(file)) {
      const paths = pathsIn(setting, { top, file, home }).flatMap(realPaths);
      if (isInclude(setting)) pending.push(...paths);
      for (const path of isWanted(setting) ? paths : []) named.add(path);
    }
  }
  return [...named];
}

/** Files that include each other. */
const mostFiles = 50;

function isInclude({ section, variable }: GitSetting): boolean {
  return (section === "include" || section === "includeif") && variable === "path";
}

type Base = { top: string; file: string; home: string };

/** Hooks and commands are relative to the top of the work tree, includes to the file that they stand in. */
function pathsIn(setting: GitSetting, { top, file, home }: Base): string[] {
  const { section, variable, value } = setting;
  // Only its user runs an alias, and commands may change the project's own scripts.
  if (value === true || value === "" || section === "alias") return [];
  if (whySettingDangerous(setting, { gitDirectory: dirname(file), roots: [] }) === undefined) return [];
  const base = isInclude(setting) ? dirname(file) : top;
  const isPath = isInclude(setting) || directorySettings.has(`${section}.${variable}`);
  if (!isPath) return [...filesLoadedBy(value, base, home)];
  const path = value.replace(/^~(?=\/)/, home);
  return [isAbsolute(path) ? path : join(base, path)];
}

const directorySettings: ReadonlySet<string> = new Set(["core.hookspath", "init.templatedir"]);
