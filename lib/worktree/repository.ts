import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { largestCopy, type Copies } from "../files/copies.ts";
import type { Content, PresentEntry } from "../files/entry.ts";
import { ancestors } from "../files/path.ts";
import { readSmallText } from "../files/read.ts";
import { gitPlaces, type GitPlaces } from "../git/places.ts";
import { runGit, tryGit, type Git, type GitRun } from "../git/program.ts";

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
    { ...inside(repository, signal), cwd: top },
    ["check-ignore", "-q", "-z", "--stdin"],
    `${relative(top, base)}\0`,
  );
  return exitCode === 0;
}

function inside({ git, directory, top, base }: FrozenRepository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: top, cwd: base, signal };
}

export type Differing = {
  /** Everything that is not as the frozen index has it: changed, deleted, or not in it. Relative to `base`. */
  files: readonly string[];
  /** Directories that are repositories of their own. */
  nested: readonly string[];
  directories: readonly string[];
};

/** With `all` the directories without a file of the index are listed too: empty ones, and those of untracked files. */
export async function differing(
  repository: FrozenRepository,
  signal: AbortSignal,
  { all = false } = {},
): Promise<Differing> {
  const list = async (...kinds: string[]) =>
    partsOf(await runGit(inside(repository, signal), ["ls-files", "-z", ...kinds]));
  const untracked = async () => {
    const shown = all ? await list("-o", "--exclude-standard", "--directory") : [];
    const directories = directoriesIn(shown);
    // The files in them are not shown. Without any, which is common, all files are.
    const files = all && directories.length === 0 ? shown : await list("-o", "--exclude-standard");
    return { files, directories };
  };
  // Each looks at the whole tree: the first takes as long as the others together, on another processor.
  const [changed, { files: others, directories }] = await bothEnded(list("-m", "-d"), untracked());
  const paths = [...new Set([...changed, ...others])];
  return {
    files: paths.filter((path) => !path.endsWith("/")),
    nested: [...directoriesIn(paths), ...(await submodules(repository, signal))],
    directories,
  };
}

function directoriesIn(paths: readonly string[]): string[] {
  return paths.flatMap((path) => (path.endsWith("/") ? path.slice(0, -1) : []));
}

/** Nothing of the other runs any more when one has failed. */
async function bothEnded<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return await Promise.all([one, other]);
}

async function submodules(repository: FrozenRepository, signal: AbortSignal): Promise<readonly string[]> {
  if (!existsSync(join(repository.top, ".gitmodules"))) return [];
  const entries = [...(await indexEntries(repository, signal))].filter(([, { mode }]) => mode === "160000");
  return entries.map(([path]) => path).filter((path) => existsSync(join(repository.base, path, ".git")));
}

/** All the files in the frozen index that lie in the base, whether they are still there or not, and submodules. */
export async function trackedFiles(repository: FrozenRepository, signal: AbortSignal): Promise<readonly string[]> {
  const prefix = prefixOf(repository);
  const paths = partsOf(await runGit(awayFrom(repository, signal), ["ls-files", "-z"]));
  return paths.flatMap((path) => (path.startsWith(prefix) ? path.slice(prefix.length) : []));
}

/** Paths in the index begin with it. */
function prefixOf({ base, top }: FrozenRepository): string {
  return base === top ? "" : `${relative(top, base)}/`;
}

type IndexEntry = { mode: string; hash: string; size: number };

/** `--debug` adds the size that the file had; in case that it ever looks different the size is taken to be right. */
async function indexEntries(
  repository: FrozenRepository,
  signal: AbortSignal,
  wanted: readonly string[] = [],
): Promise<Map<string, IndexEntry>> {
  const prefix = prefixOf(repository);
  const names = wanted.filter((path) => path !== "").map((path) => `:(literal)${prefix}${path}`);
  // A command line takes no more; then git lists all of them.
  const some = names.join().length < mostNamed ? ["--", ...names] : [];
  const printed = await runGit(awayFrom(repository, signal), ["ls-files", "-z", "-s", "--debug", ...some]);
  const entries = new Map<string, IndexEntry>();
  const entry = /(\d{6}) ([0-9a-f]{40,64}) \d\t([^\0]*)\0(?:[^\0]*?size: (\d+)\tflags: \w+\n)?/gy;
  for (const [, mode = "", hash = "", path = "", size = "0"] of new TextDecoder().decode(printed).matchAll(entry)) {
    if (path.startsWith(prefix) && isReadable(path))
      entries.set(path.slice(prefix.length), { mode, hash, size: Number(size) });
  }
  return entries;
}

const mostNamed = 20_000;

/** For commands to which the work tree does not matter: it may be gone. */
function awayFrom({ git, directory }: FrozenRepository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: directory, cwd: directory, signal };
}

function partsOf(printed: Uint8Array): string[] {
  return new TextDecoder()
    .decode(printed)
    .split("\0")
    .filter((part) => part !== "" && isReadable(part));
}

/** A name that is not UTF-8 leads to no file: what looks deleted is not. */
function isReadable(name: string): boolean {
  return !name.includes("\uFFFD");
}

type Wanted = { paths: readonly string[]; copies: Copies };

/** Files as the frozen index has them; those that it does not have are not in the result. */
export async function indexedFiles(
  repository: FrozenRepository,
  { paths, copies }: Wanted,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PresentEntry>> {
  const entries = await indexEntries(repository, signal, paths);
  const wanted = paths.flatMap((path) => {
    const entry = entries.get(path);
    return entry === undefined || !isMode(entry.mode) ? [] : [{ ...entry, path }];
  });
  const small = wanted.filter(({ size }) => size <= largestCopy);
  const contents = new Map<string, Content | undefined>();
  for await (const { path, size, blob } of withBlobs(small, repository, signal)) {
    const bytes = asInWorkTree(blob, size);
    contents.set(path, bytes && copies.add(bytes));
  }
  // As the umask lets git make one.
  const plain = lstatSync(join(repository.directory, "HEAD")).mode;
  const modes = new Map([
    ["100644", plain],
    ["100755", executable(plain)],
  ]);
  return new Map(
    wanted.map(({ path, mode }): [string, PresentEntry] => {
      const kind = mode === "120000" ? "symlink" : "file";
      return [path, { kind, mode: modes.get(mode) ?? 0o120777, content: contents.get(path) }];
    }),
  );
}

/** As git does it: who may read may execute. */
export function executable(mode: number): number {
  return mode | ((mode & 0o444) >> 2);
}

function isMode(mode: string): boolean {
  return mode === "100644" || mode === "100755" || mode === "120000";
}

/**
 * git may have converted the file when it was checked out. By its size it can be told that it did, and undone is the
 * conversion of line ends; of what a filter did the outcome is lost.
 */
function asInWorkTree(blob: Uint8Array, size: number): Uint8Array | undefined {
  // Size 0 says of some entries only that git wants to look at them again.
  if (size === blob.length || size === 0) return blob;
  const text = Buffer.from(blob).toString("latin1");
  const converted = text.replace(/\r?\n/g, "\r\n");
  return converted.length === size ? Buffer.from(converted, "latin1") : undefined;
}

/** As many blobs are in memory together as come to this. */
const mostBytes = largestCopy;

/** Without those that are gone with the repository. */
async function* withBlobs<T extends IndexEntry>(
  wanted: readonly T[],
  repository: FrozenRepository,
  signal: AbortSignal,
) {
  let bytes = 0;
  const groups = Map.groupBy(wanted, ({ size }) => Math.floor((bytes += size) / mostBytes));
  for (const group of groups.values()) {
    const hashes = group.map(({ hash }) => hash).join("\n");
    const printed = await runGit(awayFrom(repository, signal), ["cat-file", "--batch"], hashes);
    let at = 0;
    for (const one of group) {
      const start = printed.indexOf(0x0a, at) + 1;
      const [, , size] = new TextDecoder().decode(printed.subarray(at, start)).split(" ");
      at = start;
      // Of a blob that is gone git says only that it is missing.
      if (size === undefined) continue;
      yield { ...one, blob: printed.subarray(start, start + Number(size)) };
      at += Number(size) + 1;
    }
  }
}
