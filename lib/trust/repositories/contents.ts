import type { HeldDirectory } from "../../files/held.ts";
import { follow } from "../../git/places.ts";
import { textIn, whyOutside } from "./pointers.ts";

/** A danger in a git directory, and the part that it is in; an empty part is the whole. */
export type Danger = { part: string; reason: string };

/** How many more entries will be looked at. */
type EntryBudget = { entries: number };

/** They are judged as repositories of their own. */
const repositoriesIn: ReadonlySet<string> = new Set(["modules", "worktrees"]);

/** These may have any number of files, and git writes none of them through a symlink. */
const manyIn: ReadonlySet<string> = new Set(["objects", "lfs"]);

/**
 * Symlinks in a git directory lead git's reading, and its writing, to somewhere else: through one in the place of
 * `logs/HEAD` it would append to a file of the user's. Among the objects only the directories are looked at.
 */
export function* linkDangers(directory: HeldDirectory, left: EntryBudget): Generator<Danger> {
  for (const { name, isDirectory, danger } of entriesOf(directory, "", left)) {
    if (danger !== undefined) yield danger;
    if (!isDirectory || repositoriesIn.has(name)) continue;
    using child = directory.child(name);
    if (!manyIn.has(name)) yield* linksBelow(child, `${name}/`, left);
    else for (const { danger } of entriesOf(child, `${name}/`, left)) if (danger !== undefined) yield danger;
  }
}

function* linksBelow(directory: HeldDirectory, prefix: string, left: EntryBudget): Generator<Danger> {
  for (const { name, isDirectory, danger } of entriesOf(directory, prefix, left)) {
    if (danger !== undefined) yield danger;
    if (!isDirectory) continue;
    using child = directory.child(name);
    yield* linksBelow(child, `${prefix}${name}/`, left);
  }
}

type Entry = { name: string; isDirectory: boolean; danger?: Danger };

function* entriesOf(directory: HeldDirectory, prefix: string, left: EntryBudget): Generator<Entry> {
  for (const name of directory.names()) {
    if (left.entries-- <= 0) throw new Error("it has more files than can be looked through");
    const part = `${prefix}${name}`;
    const stats = directory.look(name);
    if (stats !== undefined && !stats.isSymbolicLink()) {
      yield { name, isDirectory: stats.isDirectory() };
      continue;
    }
    // A name that is not UTF-8 comes with another letter in it, and nothing is found by that.
    const isHidden = stats === undefined && name.includes("\ufffd");
    if (isHidden) yield { name, isDirectory: false, danger: { part: "", reason: `the name "${part}" cannot be read` } };
    if (stats !== undefined) yield { name, isDirectory: false, danger: { part, reason: whyLink(part) } };
  }
}

export function whyLink(part: string): string {
  return `${JSON.stringify(part)} in it is a symlink, which git would follow`;
}

export function* hookDangers(directory: HeldDirectory): Generator<Danger> {
  if (directory.look("hooks") === undefined) return;
  using hooks = directory.child("hooks");
  for (const name of hooks.names()) {
    const stats = hooks.look(name);
    const isExecutable = stats !== undefined && !stats.isDirectory() && (stats.mode & 0o111n) !== 0n;
    if (isExecutable && !name.endsWith(".sample"))
      yield { part: `hooks/${name}`, reason: `its hook ${JSON.stringify(name)} can be executed, and git would run it` };
  }
}

export function* alternatesDangers(directory: HeldDirectory, roots: readonly string[]): Generator<Danger> {
  const text = textBelow(directory, ["objects", "info", "alternates"]);
  for (const line of text.split(/[\r\n]+/)) {
    if (line === "" || line.startsWith("#")) continue;
    const { real, fault } = follow(`${directory.path}/objects`, line);
    const reason = fault ?? (line.startsWith('"') ? "it is quoted" : whyOutside(real, roots));
    if (reason !== undefined)
      yield { part: "objects/info/alternates", reason: `it takes objects from ${JSON.stringify(line)}: ${reason}` };
  }
}

/** Steps of the next `git rebase --continue`, and remotes for `git fetch` as git defined them long ago. */
export function* stepDangers(directory: HeldDirectory): Generator<Danger> {
  for (const part of ["rebase-merge", "rebase-apply", "sequencer"]) {
    const steps = ["git-rebase-todo", "todo"].map((name) => textBelow(directory, [part, name]));
    if (steps.some((text) => /^\s*(x|exec)\b/m.test(text)))
      yield { part, reason: 'its unfinished rebase has an "exec" step, which git rebase would run' };
    // The name of a strategy is a part of the name of the program that git runs for it.
    if (["strategy", "opts"].some((name) => textBelow(directory, [part, name]).includes("/")))
      yield { part, reason: "its unfinished rebase names a program, which git rebase would run" };
  }
  for (const part of ["remotes", "branches"]) {
    if (directory.look(part) === undefined) continue;
    using child = directory.child(part);
    if (child.names().length > 0)
      yield { part, reason: `it has remotes in "${part}", which could name a program that git fetch would run` };
  }
}

/** The text of a file some directories below; none when it is not there. */
function textBelow(directory: HeldDirectory, [name = "", ...rest]: readonly string[]): string {
  if (directory.look(name) === undefined) return "";
  if (rest.length === 0) return textIn(directory, name);
  using child = directory.child(name);
  return textBelow(child, rest);
}
