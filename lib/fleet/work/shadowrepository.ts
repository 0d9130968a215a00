import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { gitFailure, runGit, streamGit, tryGit, type Git, type GitRun } from "../../git/program.ts";
import { copyShallow, type Mirror } from "./mirror.ts";
import { keepOwnEntries, type OwnEntries, zeroEnded } from "./ownentries.ts";
import { assertPatchSize } from "./patchsize.ts";

/**
 * The commit that a work tree began with, to make patches against: a git directory of koda's own beside the tree, where
 * commands cannot write, so that nothing of the task's repository is obeyed and nothing in it is touched.
 */
export class ShadowRepository {
  readonly directory: string;
  /** The commit; of an empty directory it is the empty tree. */
  readonly base: string;
  readonly #git: Git;
  readonly #root: string;
  /** Of the last patch. */
  #own: OwnEntries = new Map();

  constructor({ directory, base, git, root }: { directory: string; base: string; git: Git; root: string }) {
    this.directory = directory;
    this.base = base;
    this.#git = git;
    this.#root = root;
  }

  /**
   * Everything in the tree that differs, new files too, without what the repository ignores. For `git apply`. Throws an
   * AttemptFailure when the store could not take it.
   */
  async patch(signal: AbortSignal): Promise<Uint8Array> {
    // Of a task that only answers.
    if (this.base === emptyTree && isEmpty(this.#root)) return new Uint8Array();
    const run = this.#run(signal);
    await addAll(run);
    this.#own = await keepOwnEntries(run, this.base, this.#own);
    if (this.#own.size === 0) return new Uint8Array();
    const pieces: Uint8Array[] = [];
    let size = 0;
    for await (const piece of streamGit(run, [...patchCommand, this.base])) {
      size += piece.length;
      assertPatchSize(size);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  /** Changes the tree. Throws GitError when the patch does not fit, and then changes nothing. */
  async apply(patch: Uint8Array, signal: AbortSignal): Promise<void> {
    if (patch.length === 0) return;
    const file = join(this.directory, "koda-patch");
    writeFileSync(file, patch);
    await runGit(this.#run(signal), ["apply", "--whitespace=nowarn", "--", file]);
  }

  /** Commits what the last patch has, and nothing that has come later. */
  async commit(message: string, author: { name: string; email: string }, signal: AbortSignal): Promise<string> {
    const run = this.#run(signal);
    const tree = textOf(await runGit(run, ["write-tree"]));
    const identity = ["-c", `user.name=${author.name}`, "-c", `user.email=${author.email}`];
    const args = [...identity, "commit-tree", tree, "-p", this.base, "-F", "-"];
    return textOf(await runGit(run, args, message));
  }

  #run(signal: AbortSignal): GitRun {
    if (!existsSync(join(this.directory, "HEAD"))) makeGitDirectory(this.directory, "sha1");
    return { git: this.#git, directory: this.directory, workTree: this.#root, cwd: this.#root, signal };
  }
}

/** git knows it without having it. */
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

function isEmpty(directory: string): boolean {
  return unlessRefused(() => readdirSync(directory))?.length === 0;
}

/** Brings the index up to date with the tree. */
async function addAll(run: GitRun): Promise<void> {
  // Of a git that was killed: there is never more than one at a time.
  rmSync(join(run.directory, "index.lock"), { force: true });
  // Beside these git looks at all files. One that cannot be read, or a repository without a commit, is left out.
  const { exitCode, complaint } = await tryGit(run, addCommand, await pathsBesideSubmodules(run));
  if (exitCode > 1 && !/does not have a commit checked out/.test(complaint))
    throw gitFailure(run, addCommand, { exitCode, complaint });
}

const addCommand = ["add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"];

/**
 * git would run `git status` in each submodule, which obeys the settings that it finds there, and those may be the
 * task's own. So submodules stay as they are, unless they are removed. Names are bytes: git knows no encoding.
 */
async function pathsBesideSubmodules(run: GitRun): Promise<Uint8Array> {
  const index = unlessRefused(() => readFileSync(join(run.directory, "index")));
  if (index?.includes(submoduleMode) !== true) return zeroEnded(["."]);
  const listed = Buffer.from(await runGit(run, ["ls-files", "-z", "--stage"])).toString("latin1");
  const names = listed.split("\0").flatMap((line) => /^160000 \w+ \d\t([^]*)$/.exec(line)?.[1] ?? []);
  const root = Buffer.from(`${run.workTree}/`).toString("latin1");
  const isLeft = (name: string) => isDirectory(Buffer.from(root + name, "latin1"));
  const [gone, left] = [names.filter((name) => !isLeft(name)), names.filter(isLeft)];
  if (gone.length > 0) await runGit(run, ["update-index", "-z", "--force-remove", "--stdin"], zeroEnded(gone));
  return zeroEnded([".", ...left.map((name) => `:(exclude,literal)${name}`)]);
}

/** As the index has it; other bytes may look like it. */
const submoduleMode = Buffer.from([0, 0, 0o160000 >> 8, 0]);

function isDirectory(path: Buffer): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch (error) {
    return errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR";
  }
}

// Submodules too, whatever a .gitmodules says of them: they are in what is published.
const diffFlags = ["-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv"];
const patchCommand = ["diff-index", "--cached", "--ignore-submodules=none", ...diffFlags];

type NewShadowRepository = {
  directory: string;
  git: Git;
  root: string;
  mirror: Mirror | undefined;
  commit: string | undefined;
};

/** For a tree as it was just made: of a commit, or empty. An empty one gets its git directory later. */
export function makeShadowRepository(made: NewShadowRepository): ShadowRepository {
  const { directory, git, root, mirror, commit: base = emptyTree } = made;
  mkdirSync(directory, { recursive: true });
  if (mirror !== undefined) {
    makeGitDirectory(directory, mirror.hash);
    writeFileSync(join(directory, "objects/info/alternates"), `${mirror.objects}\n`);
    copyShallow(mirror, directory);
    copyIndex(join(root, ".git", "index"), join(directory, "index"));
  }
  writeFileSync(join(directory, baseFile), base);
  return new ShadowRepository({ directory, base, git, root });
}

/** `HEAD` comes last. */
function makeGitDirectory(directory: string, hash: Mirror["hash"]): void {
  for (const part of ["objects/info", "refs"]) mkdirSync(join(directory, part), { recursive: true });
  writeFileSync(join(directory, "config"), hash === "sha256" ? longHashes : shortHashes);
  writeFileSync(join(directory, "HEAD"), "ref: refs/heads/none\n");
}

/** As it was made by an earlier attempt. */
export function openShadowRepository(made: Pick<NewShadowRepository, "directory" | "git" | "root">): ShadowRepository {
  return new ShadowRepository({ ...made, base: readFileSync(join(made.directory, baseFile), "utf8") });
}

const baseFile = "koda-base";
const shortHashes = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const longHashes = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n";

/** With its time: git looks closer at files that are no older than the index. */
function copyIndex(from: string, to: string): void {
  copyFileSync(from, to);
  const seconds = Math.floor(statSync(from).mtimeMs) / 1000;
  utimesSync(to, seconds, seconds);
}

function textOf(printed: Uint8Array): string {
  return new TextDecoder().decode(printed).trim();
}
