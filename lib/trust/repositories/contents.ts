import { readlinkSync } from "node:fs";
import { basename } from "node:path";
import { kindOf } from "../../files/walk.ts";
import { reasonOf, unlessRefused } from "../../errors.ts";
import { HeldDirectory } from "../../files/held.ts";
import { follow } from "../../git/places.ts";
import { formOfName } from "./names.ts";
import { bytesIn, textIn, whyOutside } from "./pointers.ts";

/** A danger in a git directory, and the part that it is in; an empty part is the whole. */
export type Danger = { part: string; reason: string };

/** How many more entries will be looked at. */
type EntryBudget = { entries: number };

/**
 * Files at the top by which git does nothing: those in capitals (`ORIG_HEAD`) among them, and its locks. Of `config` it
 * is the lock alone, since the file is judged.
 */
const harmlessFile =
  /^([A-Z]+(_[A-Z]+)*|config(\.worktree)?|description|index|sharedindex\.[0-9a-f]+|packed-refs(\.new)?|shallow|gc\.(log|pid)|locked|next-index-\d+|index\.stash\.\d+|(shallow|sharedindex)_\w{6}|fast_import_crash_\d+|t\w{6}|ADD_EDIT\.patch|addp-hunk-edit\.diff|\.[A-Z_]+\.sw[a-p])$/;

/** Directories of which git follows nothing but symlinks. */
const harmlessDirectories: ReadonlySet<string> = new Set(["refs", "logs", "info", "reftable", "rr-cache"]);

/** These may have any number of files, and git writes none of them through a symlink. */
const largeDirectories: ReadonlySet<string> = new Set(["objects", "lfs"]);

/** Each of them has a check of its own. */
const judgedParts: ReadonlySet<string> = new Set(
  "config config.worktree commondir gitdir hooks modules worktrees rebase-merge rebase-apply sequencer remotes branches".split(
    " ",
  ),
);

/**
 * Entries beyond those that are known to be harmless, and symlinks, which lead git's reading and writing to somewhere
 * else: through one in the place of `logs/HEAD` it would append to a file of the user's. Among the objects only the
 * directories are looked at.
 */
export function* entryDangers(directory: HeldDirectory, left: EntryBudget): Generator<Danger> {
  for (const { name, kind, danger } of entriesOf(directory, "", left)) {
    const isLarge = largeDirectories.has(name) && kind === "directory";
    if (danger !== undefined) yield danger;
    else if (!isLarge && !judgedParts.has(name) && !isHarmless(name, kind)) yield unknownEntry(name);
    if (kind !== "directory" || repositoriesIn.has(name)) continue;
    using child = directory.child(name);
    yield* linksBelow(child, { prefix: `${name}/`, left, isDeep: !isLarge });
  }
}

/** A check's dangers, and one more when the system, or what was put there, let it see no further. */
export function unlessUnreadable(check: () => Iterable<Danger>, what = "it"): readonly Danger[] {
  const dangers: Danger[] = [];
  try {
    for (const danger of check()) dangers.push(danger);
  } catch (error) {
    dangers.push({ part: "", reason: `${what} cannot be read: ${reasonOf(error)}` });
  }
  return dangers;
}

/** They are judged as repositories of their own. */
const repositoriesIn: ReadonlySet<string> = new Set(["modules", "worktrees"]);

function isHarmless(name: string, kind: Entry["kind"]): boolean {
  if (kind === "directory") return harmlessDirectories.has(name);
  return kind === "file" && harmlessFile.test(name.replace(/\.lock$/, ""));
}

export function unknownEntry(name: string): Danger {
  return { part: name, reason: `${JSON.stringify(name)} in it is not known to be harmless` };
}

type Below = { prefix: string; left: EntryBudget; isDeep: boolean };

/** An entry that cannot be read hides nothing beside it. */
function linksBelow(directory: HeldDirectory, { prefix, left, isDeep }: Below): readonly Danger[] {
  return unlessUnreadable(
    function* () {
      for (const { name, kind, danger } of entriesOf(directory, prefix, left)) {
        if (danger !== undefined) yield danger;
        if (kind !== "directory" || !isDeep) continue;
        using child = directory.child(name);
        yield* linksBelow(child, { prefix: `${prefix}${name}/`, left, isDeep });
      }
    },
    `${JSON.stringify(prefix)} in it`,
  );
}

type Entry = { name: string; kind: ReturnType<typeof kindOf> | "missing"; danger?: Danger };

function* entriesOf(directory: HeldDirectory, prefix: string, left: EntryBudget): Generator<Entry> {
  for (const name of directory.names()) {
    if (left.entries-- <= 0) throw new Error("it has more files than can be looked through");
    const part = `${prefix}${name}`;
    const stats = directory.look(name);
    // A command is at work here: a lock, for example, is gone when git has written the file.
    if (stats === undefined) continue;
    const kind = kindOf(stats);
    const target = kind === "symlink" ? readlinkSync(directory.at(name)) : "";
    if (isProbe(part, target)) continue;
    const danger = dangerOf(part, kind, target);
    yield { name, kind: danger === undefined ? kind : "missing", ...(danger && { danger }) };
  }
}

/** `git init` makes one for a moment, to see if the file system has symlinks. */
function isProbe(part: string, target: string): boolean {
  return target === "testing" && /^t\w{6}$/.test(part);
}

export function dangerOf(part: string, kind: Entry["kind"], target = ""): Danger | undefined {
  // In place of bytes that are not UTF-8; something else may lie by the name that this one is read as.
  if (part.includes("\ufffd")) return { part: "", reason: `the name "${part}" cannot be read` };
  if (formOfName(basename(part)) !== undefined)
    return { part: "", reason: `"${part}" in it could be taken for a repository` };
  if (kind !== "symlink") return undefined;
  return { part, reason: `${JSON.stringify(part)} in it is a symlink, which git would follow to "${target}"` };
}

/** Hooks that git would run, but for those that it copied there from the user's own templates. */
export function* hookDangers(directory: HeldDirectory, templates: readonly string[]): Generator<Danger> {
  if (directory.look("hooks") === undefined) return;
  using hooks = directory.child("hooks");
  for (const name of hooks.names()) {
    if (!isExecutable(hooks, name) || name.endsWith(".sample") || isUsers(hooks, name, templates)) continue;
    yield { part: `hooks/${name}`, reason: `its hook ${JSON.stringify(name)} can be executed, and git would run it` };
  }
}

function isExecutable(hooks: HeldDirectory, name: string): boolean {
  const stats = hooks.look(name);
  return stats !== undefined && !stats.isDirectory() && (stats.mode & 0o111n) !== 0n;
}

/** Byte for byte: the same program by another name is another hook. */
function isUsers(hooks: HeldDirectory, name: string, templates: readonly string[]): boolean {
  const isSame = (template: string) => {
    using own = HeldDirectory.open(template);
    return isExecutable(own, name) && bytesIn(own, name).equals(bytesIn(hooks, name));
  };
  return templates.some((template) => unlessRefused(() => isSame(template)) ?? false);
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

/**
 * Steps of the next `git rebase --continue`. What is in them is told, so that another one is not taken for one that was
 * there before.
 */
export function* stepDangers(directory: HeldDirectory, part: string): Generator<Danger> {
  const danger = (what: string, text: string) => {
    const reason = `its unfinished rebase ${what}, which git rebase would run: ${JSON.stringify(text)}`;
    return { part, reason };
  };
  const steps = ["git-rebase-todo", "todo"].flatMap((name) => textBelow(directory, [part, name]).split("\n"));
  for (const step of steps) if (/^\s*(x|exec)\b/.test(step)) yield danger('has an "exec" step', step);
  // The name of a strategy is a part of the name of the program that git runs for it.
  for (const text of ["strategy", "opts"].map((name) => textBelow(directory, [part, name])))
    if (text.includes("/")) yield danger("names a program", text);
}

/** Remotes for `git fetch` as git defined them long ago. */
export function* remoteDangers(directory: HeldDirectory, part: string): Generator<Danger> {
  if (directory.look(part) === undefined) return;
  using child = directory.child(part);
  for (const name of child.names()) {
    const remote = `${JSON.stringify(name)} is ${JSON.stringify(textIn(child, name))}`;
    yield { part, reason: `it has remotes in "${part}", and git fetch could run a program for them: ${remote}` };
  }
}

/** The text of a file some directories below; none when it is not there. */
function textBelow(directory: HeldDirectory, [name = "", ...rest]: readonly string[]): string {
  if (directory.look(name) === undefined) return "";
  if (rest.length === 0) return textIn(directory, name);
  using child = directory.child(name);
  return textBelow(child, rest);
}
