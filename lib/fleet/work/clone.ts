import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf } from "../../errors.ts";
import { runGit, type GitRun } from "../../git/program.ts";
import { copyShallow, listRefs, type Mirror, type Revision } from "./mirror.ts";
import { type UserGit, withoutPasswords } from "./usergit.ts";

type Clone = {
  user: UserGit;
  mirror: Mirror;
  revision: Revision;
  repo: string;
  /** An empty directory. */
  root: string;
  /** Its commands may write to the repository, so it shares no file with the mirror. */
  mayWrite: boolean;
};

/**
 * Makes a whole repository of the mirror, without the network: its branches are those of `origin`, and the files are
 * those of the revision. Nothing that the repository brings is run: no hooks, no filters, no submodules.
 */
export async function cloneInto(clone: Clone, signal: AbortSignal): Promise<void> {
  const { user, mirror, revision, root, mayWrite } = clone;
  const directory = join(root, ".git");
  const run: GitRun = { git: user.git, directory, workTree: root, cwd: root, signal };
  mkdirSync(directory, { recursive: true });
  await runGit(run, ["init", "--quiet", "--template=", `--object-format=${mirror.hash}`]);
  shareObjects(mirror.objects, join(directory, "objects"), mayWrite);
  copyShallow(mirror, directory);
  writeFileSync(join(directory, "packed-refs"), await packedRefs(clone, signal));
  await runGit(run, ["config", "remote.origin.url", withoutPasswords(clone.repo)]);
  await runGit(run, ["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
  if (revision.branch === undefined) writeFileSync(join(directory, "HEAD"), `${revision.commit}\n`);
  else {
    await runGit(run, ["update-ref", `refs/heads/${revision.branch}`, revision.commit]);
    await runGit(run, ["symbolic-ref", "HEAD", `refs/heads/${revision.branch}`]);
  }
  await runGit(run, ["read-tree", "--reset", "-u", revision.commit]);
}

/** Objects never change, so they may be the same files where nothing can write to them. */
function shareObjects(from: string, to: string, mayWrite: boolean): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.startsWith("tmp_")) continue;
    const path = join(entry.parentPath, entry.name);
    const target = join(to, path.slice(from.length + 1));
    mkdirSync(dirname(target), { recursive: true });
    if (mayWrite || !isLinked(path, target)) copyFileSync(path, target, constants.COPYFILE_FICLONE);
  }
}

/** False where that is not possible: on another file system, or one without links. */
function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (["EXDEV", "EPERM", "EMLINK", "ENOTSUP", "EOPNOTSUPP"].includes(errnoOf(error) ?? "")) return false;
    throw error;
  }
}

async function packedRefs({ user, mirror }: Clone, signal: AbortSignal): Promise<string> {
  const refs = await listRefs(user, mirror, signal);
  const lines = refs.map(([name, id]) => `${id} ${name.replace(/^refs\/heads\//, "refs/remotes/origin/")}\n`);
  return lines.sort((a, b) => (a.slice(a.indexOf(" ")) < b.slice(b.indexOf(" ")) ? -1 : 1)).join("");
}
