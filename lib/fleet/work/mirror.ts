import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runGit, tryGit, type GitRun } from "../../git/program.ts";
import { tryLock } from "../../system/descriptors.ts";
import { AttemptFailure } from "./failure.ts";
import { branchProblem } from "../list/places.ts";
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

type MirrorPlace = { user: UserGit; directory: string; repo: string; signal: AbortSignal };

/** Comes last: the hash and the default branch, and then the branches and tags. */
const refsFile = "koda-refs";

/**
 * Opens the mirror, which is fetched by the first who needs it; others wait. All tasks of the batch see the branches as
 * they were then. The address is nowhere in it: it may have a password.
 */
export async function openMirror(place: MirrorPlace): Promise<Mirror> {
  const { directory, repo } = place;
  if (repo.startsWith("-"))
    throw new AttemptFailure("usage", `Cannot clone "${repo}": expected a URL or a path, which do not begin with "-"`);
  mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  if (!existsSync(join(directory, refsFile))) {
    using _ = await locked(directory, place.signal);
    if (!existsSync(join(directory, refsFile))) await fetchAll(place);
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

async function fetchAll({ user, directory, repo, signal }: MirrorPlace): Promise<void> {
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
  writeFileSync(join(directory, `${refsFile}.new`), `${hash} ${branch}\n${refs}`);
  renameSync(join(directory, `${refsFile}.new`), join(directory, refsFile));
}

/** The clones that CI makes are shallow. */
const fetchFlags = ["--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-gc", "--update-shallow"];

/** Finds a branch, a tag or a commit; one that no branch has is fetched by itself. */
export async function findRevision(place: MirrorPlace, mirror: Mirror, ref: string | undefined): Promise<Revision> {
  const name = ref ?? mirror.defaultBranch ?? "HEAD";
  return (await known(place, mirror, name)) ?? (await fetched(place, mirror, name));
}

async function known({ user, signal }: MirrorPlace, mirror: Mirror, name: string): Promise<Revision | undefined> {
  const commitOf = async (full: string) => {
    const listed = mirror.refs.find(([ref]) => ref === full && ref.startsWith("refs/heads/"));
    if (listed !== undefined) return listed[1];
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${full}^{commit}`];
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

async function fetched(place: MirrorPlace, mirror: Mirror, name: string): Promise<Revision> {
  const { user, repo, signal } = place;
  const unknown = `"${withoutPasswords(repo)}" has no branch, tag or commit "${name}"`;
  if (name.startsWith("-")) throw new AttemptFailure("repository", unknown);
  using _ = await locked(mirror.directory, signal);
  const spec = `+${name}:${wanted}${nameOf(name)}`;
  const run = { directory: mirror.directory, signal };
  const end = await tryRemote(user, run, ["fetch", ...fetchFlags, "--", repo, spec]);
  const found = end.status === 0 ? await known(place, mirror, name) : undefined;
  if (found !== undefined) return found;
  const { message } = remoteFailure("fetch", run, end);
  throw new AttemptFailure("repository", end.status === 0 ? unknown : `${unknown}: ${message}`);
}

/** A name for any text. */
function nameOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 24);
}

/** The directory of a repository's mirror among others. */
export function mirrorName(repo: string): string {
  return `${nameOf(repo)}.git`;
}

function inMirror({ git }: UserGit, { directory }: Pick<Mirror, "directory">, signal: AbortSignal): GitRun {
  return { git, directory, workTree: directory, cwd: directory, signal };
}

/** Copies the end of a shallow history, to a repository that has the objects. */
export function copyShallow(mirror: Mirror, directory: string): void {
  const file = join(mirror.directory, "shallow");
  if (existsSync(file)) copyFileSync(file, join(directory, "shallow"));
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
