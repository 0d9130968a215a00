import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ancestors } from "../files/path.ts";
import { readSmallText } from "../files/read.ts";
import { gitPlaces, type GitPlaces } from "../git/places.ts";
import { runGit, tryGit, type Git, type GitRun } from "../git/program.ts";
import { largestFile, type Mode, type Version } from "./version.ts";

/**
 * A repository as it was when the snapshot was taken: its index, frozen. Files that are as the index has them need no
 * copy, since git can hand out their contents later. koda works with a git directory of its own that points to the
 * repository's objects and only reads them, so the repository's configuration is never read and nothing in it is
 * touched.
 */
export type Repository = {
  /** The directory whose files are listed: the top of the work tree, or somewhere in it. */
  base: string;
  top: string;
  git: Git;
  /** koda's own git directory. */
  directory: string;
};

/** Undefined when `base` is in no repository, or in a part of one that is ignored. */
export async function freezeRepository(
  base: string,
  { git, directory, above }: { git: Git; directory: string; above: boolean },
  signal: AbortSignal,
): Promise<Repository | undefined> {
  const origin = originOf(base, above);
  if (origin === undefined) return undefined;
  makeGitDirectory(directory, origin);
  const repository = { base, top: origin.top, git, directory };
  const isIgnored = base !== origin.top && (await ignores(repository, signal));
  return isIgnored ? undefined : repository;
}

type Origin = GitPlaces & { top: string };

function originOf(base: string, above: boolean): Origin | undefined {
  for (const top of above ? ancestors(base) : [base]) {
    const places = gitPlaces(top);
    if (places !== undefined && existsSync(join(places.directory, "HEAD"))) return { top, ...places };
  }
  return undefined;
}

function makeGitDirectory(directory: string, origin: Origin): void {
  for (const part of ["objects/info", "refs", "info"]) mkdirSync(join(directory, part), { recursive: true });
  const files: Record<string, string> = {
    HEAD: "ref: refs/heads/none\n",
    config: usesLongHashes(origin.common) ? longHashes : shortHashes,
    "objects/info/alternates": `${join(origin.common, "objects")}\n`,
    "info/exclude": readSmallText(join(origin.common, "info/exclude")),
    // Contents are compared byte for byte: nothing is converted, and no filter could be run.
    "info/attributes": "* -text -ident -filter -working-tree-encoding\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const parts = readdirSync(origin.directory).filter((name) => name === "index" || name.startsWith("sharedindex."));
  for (const name of parts) copyIndex(join(origin.directory, name), join(directory, name));
}

const shortHashes = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const longHashes = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n";

function usesLongHashes(commonDirectory: string): boolean {
  return /^\s*objectformat\s*=\s*sha256\s*$/im.test(readSmallText(join(commonDirectory, "config")));
}

/** A million files take a fifth of it. A command may have made one of any size, which need not be on the disk. */
const largestIndex = 512 * 1024 * 1024;

/** With its time: git looks closer at files that are no older than the index, and that must not change. */
function copyIndex(from: string, to: string): void {
  const stats = statSync(from);
  if (!stats.isFile()) return;
  if (stats.size > largestIndex) throw new Error("its index is larger than 512 MiB");
  copyFileSync(from, to);
  const seconds = Math.floor(stats.mtimeMs) / 1000;
  utimesSync(to, seconds, seconds);
}

async function ignores(repository: Repository, signal: AbortSignal): Promise<boolean> {
  const { base, top } = repository;
  const { exitCode } = await tryGit(
    { ...inside(repository, signal), cwd: top },
    ["check-ignore", "-q", "-z", "--stdin"],
    `${relative(top, base)}\0`,
  );
  return exitCode === 0;
}

function inside({ git, directory, top, base }: Repository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: top, cwd: base, signal };
}

export type Differing = {
  /** Everything that is not as the frozen index has it: changed, deleted, or not in it. Relative to `base`. */
  files: readonly string[];
  /** Directories that are repositories of their own. */
  nested: readonly string[];
};

export async function differing(repository: Repository, signal: AbortSignal): Promise<Differing> {
  const printed = await runGit(inside(repository, signal), ["ls-files", "-z", "-o", "-m", "-d", "--exclude-standard"]);
  const paths = [...new Set(partsOf(printed))];
  const nested = paths.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1));
  return {
    files: paths.filter((path) => !path.endsWith("/")),
    nested: [...nested, ...(await submodules(repository, signal))],
  };
}

async function submodules(repository: Repository, signal: AbortSignal): Promise<readonly string[]> {
  if (!existsSync(join(repository.top, ".gitmodules"))) return [];
  const entries = [...(await indexEntries(repository, signal))].filter(([, { mode }]) => mode === "160000");
  return entries.map(([path]) => path).filter((path) => existsSync(join(repository.base, path, ".git")));
}

/** All the files in the frozen index that lie in the base, whether they are still there or not. */
export async function trackedFiles(repository: Repository, signal: AbortSignal): Promise<readonly string[]> {
  const entries = await indexEntries(repository, signal);
  return [...entries].filter(([, { mode }]) => isMode(mode)).map(([path]) => path);
}

type IndexEntry = { mode: string; hash: string; size: number };

/** `--debug` adds the size that the file had; in case that it ever looks different the size is taken to be right. */
async function indexEntries(repository: Repository, signal: AbortSignal): Promise<Map<string, IndexEntry>> {
  const printed = await runGit(awayFrom(repository, signal), ["ls-files", "-z", "-s", "--debug"]);
  const prefix = repository.base === repository.top ? "" : `${relative(repository.top, repository.base)}/`;
  const entries = new Map<string, IndexEntry>();
  const entry = /(\d{6}) ([0-9a-f]{40,64}) \d\t([^\0]*)\0(?:[^\0]*?size: (\d+)\tflags: \w+\n)?/gy;
  for (const [, mode = "", hash = "", path = "", size = "0"] of new TextDecoder().decode(printed).matchAll(entry)) {
    if (path.startsWith(prefix)) entries.set(path.slice(prefix.length), { mode, hash, size: Number(size) });
  }
  return entries;
}

/** Where the work tree does not matter, and may be gone. */
function awayFrom({ git, directory }: Repository, signal: AbortSignal): GitRun {
  return { git, directory, workTree: directory, cwd: directory, signal };
}

function partsOf(printed: Uint8Array): string[] {
  return new TextDecoder()
    .decode(printed)
    .split("\0")
    .filter((part) => part !== "");
}

/** Reads files as the frozen index has them; those that it does not have are not in the result. */
export async function originals(
  repository: Repository,
  signal: AbortSignal,
): Promise<(paths: readonly string[]) => Promise<ReadonlyMap<string, Version>>> {
  const entries = await indexEntries(repository, signal);
  return async (paths) => {
    const wanted = paths.flatMap((path) => {
      const entry = entries.get(path);
      return entry === undefined || !isMode(entry.mode) ? [] : [{ ...entry, path, mode: entry.mode }];
    });
    const blobs = await readBlobs(repository, [...new Set(wanted.map(({ hash }) => hash))], signal);
    return new Map(
      wanted.map(({ path, mode, hash, size }): [string, Version] => {
        const blob = blobs.get(hash);
        const bytes = blob && asInWorkTree(blob, size);
        return [path, bytes === undefined ? { mode } : { mode, bytes }];
      }),
    );
  };
}

function isMode(mode: string): mode is Mode {
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

/** Without those that are too large, and those that are gone with the repository. */
async function readBlobs(
  repository: Repository,
  hashes: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, Uint8Array>> {
  if (hashes.length === 0) return new Map();
  const run = awayFrom(repository, signal);
  const sizes = new TextDecoder().decode(await runGit(run, ["cat-file", "--batch-check"], hashes.join("\n")));
  const small = [...sizes.matchAll(/^(\w+) blob (\d+)$/gm)].filter(([, , size]) => Number(size) <= largestFile);
  const printed = await runGit(run, ["cat-file", "--batch"], small.map(([, hash]) => hash).join("\n"));

  const blobs = new Map<string, Uint8Array>();
  let at = 0;
  for (const [header, hash = "", size = "0"] of small) {
    const start = at + header.length + 1;
    blobs.set(hash, printed.subarray(start, start + Number(size)));
    at = start + Number(size) + 1;
  }
  return blobs;
}
