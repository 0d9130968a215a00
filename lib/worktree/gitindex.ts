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

type IndexEntry = { mode: string; hash: string; size: number };

/**
 * The entries of the frozen index: some, or all. `--debug` adds the size that the file had; in case that it ever looks
 * different the size is taken to be right.
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
  const entry = /(\d{6}) ([0-9a-f]{40,64}) \d\t([^\0]*)\0(?:[^\0]*?size: (\d+)\tflags: \w+\n)?/gy;
  for (const [, mode = "", hash = "", path = "", size = "0"] of new TextDecoder().decode(printed).matchAll(entry)) {
    if (path.startsWith(prefix) && isReadable(path))
      entries.set(path.slice(prefix.length), { mode, hash, size: Number(size) });
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
