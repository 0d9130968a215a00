import { basename, dirname } from "node:path";
import { HeldDirectory } from "../../files/held.ts";
import { kindOf } from "../../files/walk.ts";
import { follow, gitdirIn, pathIn } from "../../git/places.ts";
import { parseConfig } from "./config.ts";
import { alternatesDangers, dangerOf, entryDangers, hookDangers, remoteDangers } from "./contents.ts";
import { type Danger, stepDangers, unlessUnreadable } from "./contents.ts";
import { whySettingDangerous } from "./keys.ts";
import { textAt, textIn, whyOutside } from "./pointers.ts";

type JudgeOptions = {
  /** The writable roots: what a repository outside of them says is not a command's doing. */
  roots: readonly string[];
  /** Git directories that were there before any command, and that none can have changed. */
  trusted?: ReadonlySet<string>;
  /** Directories with the hooks of the user's own templates. */
  templates?: readonly string[];
};

/**
 * Why the user's next `git status`, `log`, `diff` or `commit` in a repository could run something, change something
 * elsewhere or connect somewhere; undefined when it could not. The path is that of a git directory, or of the `.git`
 * file or symlink that leads to one. What cannot be read or understood is dangerous.
 */
export function judgeRepository(path: string, options: JudgeOptions): string | undefined {
  return judge(path, caseOf(options));
}

/** All that is dangerous in a git directory, were it trusted as a whole or not. */
export function dangersIn(gitDirectory: string, options: JudgeOptions): readonly Danger[] {
  const whole = { ...caseOf(options), left: { entries: 10 * mostEntries } };
  whole.passed.add(gitDirectory);
  return [...directoryDangers(gitDirectory, whole)];
}

type Case = {
  roots: readonly string[];
  templates: readonly string[];
  /** Git directories that need no further look. */
  passed: Set<string>;
  /** How many more entries will be looked at. */
  left: { entries: number };
  /** How many repositories led here. */
  depth: number;
};

/** Beside their objects; who fills a repository with more has no good reason. */
const mostEntries = 20_000;

/** Submodules of submodules, and the like: no one nests them deeper. */
const deepest = 10;
const endless = "it has repositories in repositories without end";

function caseOf({ roots, trusted = new Set(), templates = [] }: JudgeOptions): Case {
  return { roots, templates, passed: new Set(trusted), left: { entries: mostEntries }, depth: 0 };
}

const deeper = (whole: Case): Case => ({ ...whole, depth: whole.depth + 1 });

function judge(path: string, whole: Case): string | undefined {
  const { real, kind, fault } = follow("/", path);
  if (fault !== undefined) return `it cannot be followed: ${fault}`;
  const outside = whyOutside(real, whole.roots);
  if (outside !== undefined) return outside;
  if (whole.passed.has(real)) return undefined;
  if (whole.depth > deepest) return endless;
  whole.passed.add(real);
  if (kind === "missing") return `it points to "${real}", which does not exist`;
  if (kind !== "directory" && kind !== "file") return `it points to a ${kind}`;
  const dangers = kind === "file" ? fileDangers(path, real, whole) : directoryDangers(real, whole);
  return dangers[0]?.reason;
}

function fileDangers(path: string, real: string, whole: Case): readonly Danger[] {
  return unlessUnreadable(function* () {
    const written = gitdirIn(textAt(real));
    if (written === undefined) return yield { part: "", reason: "git could not parse it" };
    // From a symlink to the file git goes on where the symlink lies.
    for (const place of new Set([path, real])) {
      const goal = follow(dirname(place), written);
      const reason = goal.fault ?? judge(goal.real, deeper(whole));
      if (reason !== undefined) yield { part: "", reason };
    }
  });
}

function directoryDangers(real: string, whole: Case): readonly Danger[] {
  return unlessUnreadable(function* () {
    using directory = HeldDirectory.open(real);
    const checks = [
      entryDangers(directory, whole.left),
      pointerDangers(directory, whole),
      configDangers(directory, "config", whole),
      configDangers(directory, "config.worktree", whole),
      hookDangers(directory, whole.templates),
      alternatesDangers(directory, whole.roots),
      ...["rebase-merge", "rebase-apply", "sequencer"].map((part) => stepDangers(directory, part)),
      ...["remotes", "branches"].map((part) => remoteDangers(directory, part)),
      innerDangers(directory, "modules", whole),
      innerDangers(directory, "worktrees", whole),
    ];
    for (const check of checks) yield* unlessUnreadable(() => check);
  });
}

function* pointerDangers(directory: HeldDirectory, whole: Case): Generator<Danger> {
  for (const part of ["commondir", "gitdir"]) {
    if (directory.look(part) === undefined) continue;
    const written = pathIn(textIn(directory, part));
    const goal = written === undefined ? undefined : follow(directory.path, written);
    if (goal === undefined || goal.fault !== undefined) {
      yield { part, reason: `git could not parse its "${part}"` };
      continue;
    }
    // A work tree that is not there any more is only forgotten by git, but it would read the common directory.
    const reason = part === "commondir" ? judge(goal.real, deeper(whole)) : whyOutside(goal.real, whole.roots);
    if (reason !== undefined) yield { part, reason: `its "${part}" cannot be followed: ${reason}` };
  }
}

function* configDangers(directory: HeldDirectory, part: string, { roots }: Case): Generator<Danger> {
  if (directory.look(part) === undefined) return;
  const settings = parseConfig(textIn(directory, part));
  if (settings === undefined) return yield { part, reason: `its ${part} cannot be parsed` };
  for (const setting of settings) {
    const reason = whySettingDangerous(setting, { gitDirectory: directory.path, roots });
    if (reason !== undefined) yield { part, reason };
  }
}

/** The git directories of submodules and work trees; a name may have slashes in it, so they may lie deeper. */
function* innerDangers(parent: HeldDirectory, part: string, whole: Case): Generator<Danger> {
  const name = basename(part);
  const stats = parent.look(name);
  const danger = dangerOf(part, stats === undefined ? "missing" : kindOf(stats));
  if (danger !== undefined) yield danger;
  if (!stats?.isDirectory()) return;
  if (whole.depth > deepest || whole.left.entries-- <= 0) return yield { part, reason: endless };

  using directory = parent.child(name);
  if (directory.look("HEAD") === undefined) {
    for (const inner of directory.names()) yield* innerDangers(directory, `${part}/${inner}`, deeper(whole));
    return;
  }
  if (whole.passed.has(directory.path)) return;
  for (const danger of directoryDangers(directory.path, deeper(whole))) {
    const inner = danger.part === "" ? part : `${part}/${danger.part}`;
    yield { part: inner, reason: `in "${part}" of it: ${danger.reason}` };
  }
}
