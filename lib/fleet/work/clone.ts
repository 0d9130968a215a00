import { appendFileSync, constants, copyFileSync, linkSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf } from "../../errors.ts";
import { runGit, type GitRun } from "../../git/program.ts";
import { copyShallow, type Mirror, type Revision } from "./mirror.ts";
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
  // Each program takes a few milliseconds for what is a line in a file.
  writeFileSync(join(directory, "packed-refs"), packedRefs(mirror, revision));
  appendFileSync(join(directory, "config"), originIn(withoutPasswords(clone.repo)));
  const { branch, commit } = revision;
  writeFileSync(join(directory, "HEAD"), branch === undefined ? `${commit}\n` : `ref: refs/heads/${branch}\n`);
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

function packedRefs({ refs }: Mirror, { branch, commit }: Revision): string {
  const ofOrigin = refs.map(([name, id]) => [name.replace(/^refs\/heads\//, "refs/remotes/origin/"), id] as const);
  const all = branch === undefined ? ofOrigin : [...ofOrigin, [`refs/heads/${branch}`, commit] as const];
  const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, id]) => `${id} ${name}\n`).join("");
}

function originIn(url: string): string {
  const quoted = url.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`);
  return `[remote "origin"]\n\turl = "${quoted}"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
}
