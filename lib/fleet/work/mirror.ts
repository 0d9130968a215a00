import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runGit, tryGit, type GitRun } from "../../git/program.ts";
import { tryLock } from "../../system/descriptors.ts";
import { AttemptFailure } from "./failure.ts";
import { branchProblem } from "../list/gitnames.ts";
import { removeDirectory } from "./remove.ts";
import { remoteFailure, runRemote, tryRemote, type UserGit, withoutPasswords } from "./usergit.ts";

/** A bare copy of a repository, which all tasks of a batch on this machine take their clones from. */
export type Mirror = {
  directory: string;
  objects: string;
  hash: "sha1" | "sha256";
  /** `main`, when that is what the repository's HEAD says. */
  defaultBranch: string | undefined;
  /** Its branches and tags, as they were when it was fetched. */
  refs: readonly (readonly [name: string, id: string])[];
};

/** A name in the repository, and the commit that it stands for. `branch` when it is one. */
export type Revision = { commit: string; branch?: string };

export type MirrorSource = { user: UserGit; directory: string; repo: string; signal: AbortSignal };

/** Comes last: the hash and the default branch, and then the branches and tags. */
const refsFile = "koda-refs";

/**
 * Opens the mirror, which is fetched by the first who needs it; others wait. All tasks of the batch see the branches as
 * they were then. The address is nowhere in it: it may have a password.
 */
export async function openMirror(source: MirrorSource): Promise<Mirror> {
  const { directory, repo } = source;
  if (repo.startsWith("-"))
    throw new AttemptFailure("usage", `Cannot clone "${repo}": expected a URL or a path that does not start with "-"`);
  mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  if (!existsSync(join(directory, refsFile))) {
    using _ = await locked(directory, source.signal);
    if (!existsSync(join(directory, refsFile))) await fetchAll(source);
  }
  const [head = "", ...refs] = (await Bun.file(join(directory, refsFile)).text()).trimEnd().split("\n");
  const [hash = "sha1", branch = ""] = head.split(" ");
  return {
    directory,
    objects: join(directory, "objects"),
    hash: hash === "sha256" ? "sha256" : "sha1",
    defaultBranch: branch === "" ? undefined : branch,
    refs: refs.map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)]),
  };
}

async function fetchAll({ user, directory, repo, signal }: MirrorSource): Promise<void> {
  const run = { directory, signal };
  // One that was killed may have left locks, which git would not pass.
  await removeDirectory(directory);
  mkdirSync(directory, { mode: 0o700 });
  // An empty repository has no HEAD to list.
  const listed = await runRemote(user, run, ["ls-remote", "--symref", "--", repo, "HEAD"]);
  const [, branch = ""] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(listed) ?? [];
  const [, commit = ""] = /^([0-9a-f]{40,64})\tHEAD$/m.exec(listed) ?? [];
  const hash = commit.length === 64 ? "sha256" : "sha1";
  await runRemote(user, run, ["init", "--quiet", "--bare", `--object-format=${hash}`, "--", directory]);
  const all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
  await runRemote(user, run, ["fetch", ...fetchFlags, "--", repo, ...all]);
  const listing = ["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"];
  const refs = new TextDecoder().decode(await runGit(inMirror(user, { directory }, signal), listing));
  // Whole, or not there: others look for it without the lock.
  writeFileSync(join(directory, `${refsFile}.new`), `${hash} ${branch}\n${refs}`);
  renameSync(join(directory, `${refsFile}.new`), join(directory, refsFile));
}

/** A checkout of CI mostly has a part of the history, which git would not take otherwise. */
export const fetchFlags = ["--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-gc", "--update-shallow"];

/** The name of what a task begins with; of a branch it is the short one. */
export function startName({ defaultBranch = "HEAD" }: Pick<Mirror, "defaultBranch">, ref = "HEAD"): string {
  return (ref === "HEAD" ? defaultBranch : ref).replace(/^refs\/heads\//, "");
}

/** Finds a branch, a tag or a commit; one that no branch has is fetched by itself. */
export async function findRevision(source: MirrorSource, mirror: Mirror, ref: string | undefined): Promise<Revision> {
  const name = startName(mirror, ref);
  return (await known(source, mirror, name)) ?? (await fetched(source, mirror, name));
}

/** A branch as it is now, with what others have pushed since the mirror was made; undefined when there is none. */
export async function fetchBranch(source: MirrorSource, mirror: Mirror, name: string): Promise<Revision | undefined> {
  if (branchProblem(name) !== undefined) return undefined;
  const full = `refs/heads/${name}`;
  // The mirror's own branches stay as they were: others begin with `main~1`, and `main/1` may have come in its place.
  const to = `${wanted}${nameOf(full)}`;
  const failure = await fetchRef(source, mirror, { from: full, to });
  if (failure?.message.includes("couldn't find remote ref") === true) return undefined;
  if (failure !== undefined) throw failure;
  const run = { directory: mirror.directory, signal: source.signal };
  return { commit: (await runRemote(source.user, run, ["rev-parse", to])).trim(), branch: name };
}

async function known({ user, signal }: MirrorSource, mirror: Mirror, name: string): Promise<Revision | undefined> {
  const commitOf = async (full: string) => {
    const listed = mirror.refs.find(([ref]) => ref === full && ref.startsWith("refs/heads/"));
    if (listed !== undefined) return listed[1];
    const args = ["rev-parse", "--verify", "--quiet", `${full}^{commit}`];
    const { exitCode, output } = await tryGit(inMirror(user, mirror, signal), args);
    return exitCode === 0 ? new TextDecoder().decode(output).trim() : undefined;
  };
  const ofBranch = await commitOf(`refs/heads/${name.replace(/^HEAD(?=[~^])/, mirror.defaultBranch ?? "HEAD")}`);
  // Of `main~1` git finds a commit too.
  if (ofBranch !== undefined) return { commit: ofBranch, ...(branchProblem(name) === undefined && { branch: name }) };
  for (const full of [`refs/tags/${name}`, `${wanted}${nameOf(name)}`, ...(isCommit.test(name) ? [name] : [])]) {
    const commit = await commitOf(full);
    if (commit !== undefined) return { commit };
  }
  return undefined;
}

const isCommit = /^[0-9a-f]{7,64}$/;
const wanted = "refs/koda/";

async function fetched(source: MirrorSource, mirror: Mirror, name: string): Promise<Revision> {
  const unknown = `"${withoutPasswords(source.repo)}" has no branch, tag or commit "${name}"`;
  if (name.startsWith("-")) throw new AttemptFailure("repository", unknown);
  const failure = await fetchRef(source, mirror, { from: name, to: `${wanted}${nameOf(name)}` });
  if (failure?.code === "repository") throw new AttemptFailure("repository", `${unknown}: ${failure.message}`);
  if (failure !== undefined) throw failure;
  const found = await known(source, mirror, name);
  if (found !== undefined) return found;
  throw new AttemptFailure("repository", unknown);
}

/** Fetches one ref into a mirror that others use; returns why it could not. */
async function fetchRef(
  { user, repo, signal }: MirrorSource,
  { directory }: Mirror,
  ref: { from: string; to: string },
) {
  using _ = await locked(directory, signal);
  // Of a git that was killed: there is never more than one at a time.
  for (const name of [ref.to, "shallow"]) rmSync(join(directory, `${name}.lock`), { force: true });
  const run = { directory, signal };
  const end = await tryRemote(user, run, ["fetch", ...fetchFlags, "--", repo, `+${ref.from}:${ref.to}`]);
  return end.status === 0 ? undefined : remoteFailure("fetch", run, end);
}

/** A name for any text. */
function nameOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 24);
}

/** The directory of a repository's mirror among others. */
export function mirrorName(repo: string): string {
  return `${nameOf(repo)}.git`;
}

/** The ends of a history that is cut off: another repository with the same objects has to know them. */
export function copyShallow({ directory }: Pick<Mirror, "directory">, to: string): void {
  if (existsSync(join(directory, "shallow"))) copyFileSync(join(directory, "shallow"), join(to, "shallow"));
}

function inMirror({ git }: UserGit, { directory }: Pick<Mirror, "directory">, signal: AbortSignal): GitRun {
  return { git, directory, workTree: directory, cwd: directory, signal };
}

/** Holds a directory for this process, or waits for the one that has it; the lock ends with its process. */
async function locked(directory: string, signal: AbortSignal): Promise<Disposable> {
  const file = openSync(`${directory}.lock`, "a", 0o600);
  try {
    while (!tryLock(file, "alone")) await sleep(50 + 50 * Math.random(), undefined, { signal });
  } catch (error) {
    closeSync(file);
    signal.throwIfAborted();
    throw error;
  }
  return { [Symbol.dispose]: () => closeSync(file) };
}
