import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { ancestors } from "../files/path.ts";
import { readSmallText } from "../files/read.ts";
import { gitPlaces, type GitPlaces } from "../git/places.ts";
import { tryGit, type Git, type GitRun } from "../git/program.ts";

/**
 * A repository as it was when the snapshot was taken: its index, frozen. Files that are as the index has them need no
 * copy, since git can hand out their contents later. koda works with a git directory of its own that points to the
 * repository's objects and only reads them, so the repository's configuration is never read and nothing in it is
 * touched.
 */
export type FrozenRepository = {
  /** The directory whose files are listed: the top of the work tree, or somewhere in it. */
  base: string;
  top: string;
  git: Git;
  /** koda's own git directory. */
  directory: string;
  /** The files at which git does not look, once they are known. */
  unwatched?: readonly string[];
};

type FreezeOptions = {
  findGit: () => Git | undefined;
  /** koda's git directory is made in it. */
  scratch: string;
  /** A repository may begin above `base`. */
  above: boolean;
  room: IndexRoom;
};

/** How many more bytes of indexes may be copied. */
type IndexRoom = { bytes: number };

/** Undefined when `base` is in no repository or in a part of one that is ignored, or there is no git. */
export async function freezeRepository(
  base: string,
  { findGit, scratch, above, room }: FreezeOptions,
  signal: AbortSignal,
): Promise<FrozenRepository | undefined> {
  const origin = originOf(base, above);
  if (origin === undefined) return undefined;
  const git = findGit();
  if (git === undefined) return undefined;
  const directory = mkdtempSync(join(scratch, "git-"));
  makeGitDirectory(directory, origin, room);
  const repository = { base, top: origin.top, git, directory };
  const isIgnored = base !== origin.top && (await ignores(repository, signal));
  return isIgnored ? undefined : repository;
}

type Origin = GitPlaces & { top: string };

function originOf(base: string, above: boolean): Origin | undefined {
  for (const top of above ? ancestors(base) : [base]) {
    const places = existsSync(join(top, ".git")) ? gitPlaces(top) : undefined;
    if (places !== undefined && existsSync(join(places.directory, "HEAD"))) return { top, ...places };
  }
  return undefined;
}

/** The form of patches for a directory: git takes their paths to be relative to the top of the repository. */
export type PatchPlace = { prefix: string; hash: "sha1" | "sha256" };

export function patchPlaceOf(directory: string): PatchPlace {
  const origin = originOf(directory, true);
  if (origin === undefined) return { prefix: "", hash: "sha1" };
  const prefix = origin.top === directory ? "" : `${relative(origin.top, directory)}/`;
  return { prefix, hash: usesLongHashes(origin.common) ? "sha256" : "sha1" };
}

function makeGitDirectory(directory: string, origin: Origin, room: IndexRoom): void {
  for (const part of ["objects/info", "refs", "info"]) mkdirSync(join(directory, part), { recursive: true });
  const files: Record<string, string> = {
    HEAD: "ref: refs/heads/none\n",
    config: usesLongHashes(origin.common) ? longHashes : shortHashes,
    "objects/info/alternates": `${join(origin.common, "objects")}\n`,
    "info/exclude": readSmallText(join(origin.common, "info/exclude"), { isReal: true }),
    // Contents are compared byte for byte: nothing is converted, and no filter could be run.
    "info/attributes": "* -text -ident -filter -working-tree-encoding\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const parts = readdirSync(origin.directory).filter((name) => name === "index" || name.startsWith("sharedindex."));
  for (const name of parts) copyIndex(join(origin.directory, name), join(directory, name), room);
}

const shortHashes = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const longHashes = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n";

function usesLongHashes(commonDirectory: string): boolean {
  return /^\s*objectformat\s*=\s*sha256\s*$/im.test(readSmallText(join(commonDirectory, "config")));
}

/**
 * How many bytes of indexes a snapshot copies: a million files take a fifth of it. A command may have made some of any
 * size, which need not be on the disk.
 */
export const mostIndexBytes: number = 512 * 1024 * 1024;

/** With its time: git looks closer at files that are no older than the index, and that must not change. */
function copyIndex(from: string, to: string, room: IndexRoom): void {
  const stats = statSync(from);
  if (!stats.isFile()) return;
  if (stats.size > room.bytes) throw new Error("the indexes of all repositories are larger than 512 MiB");
  room.bytes -= stats.size;
  copyFileSync(from, to);
  const seconds = Math.floor(stats.mtimeMs) / 1000;
  utimesSync(to, seconds, seconds);
}

async function ignores(repository: FrozenRepository, signal: AbortSignal): Promise<boolean> {
  const { base, top } = repository;
  const { exitCode } = await tryGit(
    { ...insideTree(repository, signal), cwd: top },
    ["check-ignore", "-q", "-z", "--stdin"],
    `${relative(top, base)}\0`,
  );
  return exitCode === 0;
}

/** For commands about the work tree. */
export function insideTree({ git, directory, top, base }: FrozenRepository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: top, cwd: base, signal };
}

/** For commands to which the work tree does not matter: it may be gone. */
export function awayFrom({ git, directory }: FrozenRepository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: directory, cwd: directory, signal };
}
