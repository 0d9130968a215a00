import { lstatSync } from "node:fs";
import { join, relative } from "node:path";
import { largestCopy, type Copies } from "../files/copies.ts";
import type { Content, PresentEntry } from "../files/entry.ts";
import { runGit } from "../git/program.ts";
import { awayFrom, type FrozenRepository } from "./repository.ts";

/** All the files in the frozen index that lie in the base, whether they are still there or not, and submodules. */
export async function trackedFiles(repository: FrozenRepository, signal: AbortSignal): Promise<readonly string[]> {
  const prefix = prefixOf(repository);
  const paths = printedNames(await runGit(awayFrom(repository, signal), ["ls-files", "-z"]));
  return paths.flatMap((path) => (path.startsWith(prefix) ? path.slice(prefix.length) : []));
}

/** Paths in the index begin with it. */
function prefixOf({ base, top }: FrozenRepository): string {
  return base === top ? "" : `${relative(top, base)}/`;
}

type IndexEntry = { mode: string; hash: string; size: number; isWatched: boolean };

/** Flags of files at which git does not look: "assume unchanged" and "skip worktree". */
const unwatchedFlags = 0x4000_8000;

/**
 * The entries of the frozen index: some, or all. `--debug` adds the size that the file had, and flags; in case that it
 * ever looks different the size is taken to be right.
 */
export async function indexEntries(
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
  const entry = /(\d{6}) ([0-9a-f]{40,64}) \d\t([^\0]*)\0(?:[^\0]*?size: (\d+)\tflags: (\w+)\n)?/gy;
  const text = new TextDecoder().decode(printed);
  for (const [, mode = "", hash = "", path = "", size = "0", flags = "0"] of text.matchAll(entry)) {
    const isWatched = (Number.parseInt(flags, 16) & unwatchedFlags) === 0;
    if (path.startsWith(prefix) && isReadable(path))
      entries.set(path.slice(prefix.length), { mode, hash, size: Number(size), isWatched });
  }
  return entries;
}

const mostNamed = 20_000;

/** The names that git printed with `-z`. */
export function printedNames(printed: Uint8Array): string[] {
  return new TextDecoder()
    .decode(printed)
    .split("\0")
    .filter((part) => part !== "" && isReadable(part));
}

/** Of the names that git printed with `-z` and `-v`: those with a flag that keeps git from looking at the file. */
export function unwatchedNames(printed: Uint8Array): string[] {
  const names: Uint8Array[] = [];
  for (let at = 0, end = 0; (end = printed.indexOf(0, at)) >= 0; at = end + 1)
    if (printed[at] !== watchedTag) names.push(printed.subarray(at + 2, end + 1));
  return printedNames(Buffer.concat(names));
}

/** "H": in the index, and neither assumed to be unchanged nor skipped nor in a conflict. */
const watchedTag = 0x48;

/** A name that is not UTF-8 leads to no file: what looks deleted is not. */
function isReadable(name: string): boolean {
  return !name.includes("\uFFFD");
}

type Wanted = { paths: readonly string[]; copies: Copies };

/**
 * Files as the frozen index has them. Those that it does not have are not in the result, nor those at which git does
 * not look: they may not have been as it has them.
 */
export async function indexedFiles(
  repository: FrozenRepository,
  { paths, copies }: Wanted,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PresentEntry>> {
  const entries = await indexEntries(repository, signal, paths);
  const wanted = paths.flatMap((path) => {
    const entry = entries.get(path);
    return entry?.isWatched !== true || !isMode(entry.mode) ? [] : [{ ...entry, path }];
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
