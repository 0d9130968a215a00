import { lstatSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KodaError, unlessRefused } from "../errors.ts";
import { shallowCommits, shareHistory } from "../git/history.ts";
import { gitPlaces } from "../git/places.ts";
import { type Git, type GitRun, runGit, tryGit } from "../git/program.ts";
import { differing } from "../worktree/differing.ts";
import { freezeRepository, type FrozenRepository, insideTree, mostIndexBytes } from "../worktree/repository.ts";
import type { ReviewTarget } from "./target.ts";

type ChangeTarget = Exclude<ReviewTarget, { kind: "text" }>;

export type ComparisonOptions = {
  root: string;
  findGit: () => Git | undefined;
  /** A directory that no command can write to. */
  scratch: string;
  /** Real paths of files that koda itself writes, which are not to be reviewed. */
  own: readonly string[];
};

/** Two trees of a repository. Both lie fixed: what is changed later is not seen. */
export type Comparison = {
  git: GitRun;
  before: string;
  after: string;
  /** Changed files that are too large to look at. */
  large: readonly string[];
};

/** The largest file that is copied to be compared. */
const largestFile = 8 * 1024 * 1024;

/**
 * Finds the two trees to compare, with git, but in a directory of koda's own: neither the configuration of the
 * repository nor its filters, drivers or hooks are obeyed. Throws a usage error when they cannot be found.
 */
export async function compareTarget(
  target: ChangeTarget,
  options: ComparisonOptions,
  signal: AbortSignal,
): Promise<Comparison> {
  const { root, findGit, scratch, own } = options;
  const git = findGit();
  if (git === undefined) throw new KodaError("usage", "A review of changes needs git, which is not installed");
  const room = { bytes: mostIndexBytes };
  const repository = await freezeRepository(root, { findGit: () => git, scratch, above: true, room }, signal);
  const places = repository && gitPlaces(repository.top);
  if (repository === undefined || places === undefined)
    throw new KodaError(
      "usage",
      `"${root}" is not in a git repository: run koda review in one, or name what to review with --target "TEXT"`,
    );
  shareHistory(repository.directory, places);
  // An attribute of the repository's could make any text look binary, which would hide it.
  writeFileSync(join(repository.directory, "info/attributes"), plainText);
  const run = insideTree(repository, signal);
  switch (target.kind) {
    case "uncommitted": {
      const { large, paths } = await differingFiles(repository, own, signal);
      const before = (await treeOf(run, "HEAD")) ?? (await emptyTree(run));
      return { git: run, before, after: await workTree(run, paths), large };
    }
    case "base":
      return { git: run, ...(await sinceBase(run, target.base)), large: [] };
    case "commit":
      return { git: run, ...(await ofCommit(run, target.commit)), large: [] };
    default:
      return target satisfies never;
  }
}

const plainText = "* -text -ident -filter -working-tree-encoding !diff\n";

/** The files that may differ from the index, relative to the top, and those of them that are too large. */
async function differingFiles(repository: FrozenRepository, own: readonly string[], signal: AbortSignal) {
  // The changes of the whole repository are made a tree; those outside of the project are left out afterwards.
  const { files } = await differing(repository, signal);
  const large: string[] = [];
  const paths = files.filter((path) => {
    const absolute = join(repository.base, path);
    const stats = unlessRefused(() => lstatSync(absolute, { throwIfNoEntry: false }));
    if (stats === undefined) return true;
    if (!stats.isFile() && !stats.isSymbolicLink()) return false;
    if (stats.size > largestFile) large.push(path);
    return stats.size <= largestFile && !own.includes(absolute);
  });
  return { large, paths };
}

/** The tree of the work tree: koda's own copy of the index, with everything that is not as it says. */
async function workTree(run: GitRun, paths: readonly string[]): Promise<string> {
  const input = paths.map((path) => `${path}\0`).join("");
  await runGit(run, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], input);
  return await oneLine(run, ["write-tree", "--missing-ok"]);
}

async function sinceBase(run: GitRun, base: string) {
  const hint = await remoteHint(run, base);
  const other = await commitOf(run, base, { flag: "--base", hint });
  const head = await commitOf(run, "HEAD", { flag: "--base" });
  const { exitCode, output } = await tryGit(run, ["merge-base", head, other]);
  if (exitCode !== 0)
    throw refusal("--base", base, `has no commit in common with this branch${fetchHint(run, "its history")}`);
  const common = new TextDecoder().decode(output).trim();
  return { before: common, after: head };
}

async function ofCommit(run: GitRun, name: string) {
  const commit = await commitOf(run, name, { flag: "--commit" });
  if (shallowCommits(run.directory).includes(commit))
    throw refusal("--commit", name, `has a parent that this shallow clone does not have: run git fetch --deepen=1`);
  const parent = await treeOf(run, `${commit}^`);
  return { before: parent ?? (await emptyTree(run)), after: commit };
}

/** True when this word is the name of a branch, a tag or a commit. */
export async function namesCommit({ git }: Comparison, word: string): Promise<boolean> {
  return !/\s/.test(word) && (await resolved(git, `${word}^{commit}`)) !== undefined;
}

type Asked = { flag: "--base" | "--commit"; hint?: string };

async function commitOf(run: GitRun, name: string, { flag, hint = "" }: Asked): Promise<string> {
  const found = await resolved(run, `${name}^{commit}`);
  if (found !== undefined) return found;
  if (name === "HEAD") throw refusal(flag, name, "this branch has no commit yet");
  throw refusal(flag, name, `no branch, tag or commit has this name${hint}${fetchHint(run, "it")}`);
}

/** Runners check out one branch, and have the others as branches of the remote alone. */
async function remoteHint(run: GitRun, base: string): Promise<string> {
  const remote = `origin/${base}`;
  return (await resolved(run, `refs/remotes/${remote}^{commit}`)) === undefined ? "" : ` (did you mean "${remote}"?)`;
}

function refusal(flag: string, name: string, problem: string): KodaError {
  return new KodaError("usage", `${flag} "${name}": ${problem}`);
}

function fetchHint({ directory }: GitRun, what: string): string {
  return shallowCommits(directory).length === 0
    ? ""
    : `; this is a shallow clone, which may lack ${what}: run git fetch --unshallow, or fetch more with --depth`;
}

async function treeOf(run: GitRun, revision: string): Promise<string | undefined> {
  return await resolved(run, `${revision}^{tree}`);
}

async function resolved(run: GitRun, revision: string): Promise<string | undefined> {
  const { exitCode, output } = await tryGit(run, ["rev-parse", "--verify", "--quiet", "--end-of-options", revision]);
  return exitCode === 0 ? new TextDecoder().decode(output).trim() : undefined;
}

async function emptyTree(run: GitRun): Promise<string> {
  return await oneLine(run, ["hash-object", "-t", "tree", "--stdin"]);
}

async function oneLine(run: GitRun, args: readonly string[]): Promise<string> {
  return new TextDecoder().decode(await runGit(run, args)).trim();
}
