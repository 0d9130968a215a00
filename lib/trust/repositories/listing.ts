import { lstatSync, readdirSync, type BigIntStats, type Dirent } from "node:fs";
import { join } from "node:path";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { identityOf } from "./identity.ts";
import { formOfName, isLaidOutBare, type Form } from "./names.ts";

export type RepositoryMark = { path: string; form: Exclude<Form, "target"> };

export type Listing = {
  identity: string;
  state: string;
  /** It was read long enough after its last change: a later one cannot have the same time. */
  isSettled: boolean;
  isCached: boolean;
  /** Those that are to be looked into. */
  directories: readonly string[];
  marks: readonly RepositoryMark[];
  /** The names of directories that are not UTF-8, and so lie at no path that koda could write down. */
  oddNames: readonly Buffer[];
};

/** Undefined when it cannot be read; what is gone meanwhile is empty. */
export function listDirectory(path: string, known: Listing | undefined): Listing | undefined {
  try {
    const before = statsAt(path);
    if (before === undefined) return empty;
    if (!before.isDirectory()) return empty;
    const state = stateOf(before);
    if (known?.isSettled === true && known.state === state)
      return known.isCached ? known : { ...known, isCached: true };

    const entries = readdirSync(path, { withFileTypes: true });
    // Fails where names may be listed, but nothing can be known of what has them.
    const after = statsAt(`${path}/.`);
    const isSame = after !== undefined && stateOf(after) === state;
    return {
      identity: identityOf(before),
      state,
      isSettled: isSame && isSettled(before),
      isCached: false,
      ...sorted(path, entries),
    };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno === "ENOENT" || errno === "ENOTDIR" ? empty : undefined;
  }
}

const empty: Listing = {
  identity: "",
  state: "",
  isSettled: false,
  isCached: false,
  directories: [],
  marks: [],
  oddNames: [],
};

export function statsAt(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

function stateOf({ dev, ino, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${mtimeNs}:${ctimeNs}`;
}

function sorted(path: string, entries: readonly Dirent[]): Pick<Listing, "directories" | "marks" | "oddNames"> {
  const oddNames = entries.some(({ name }) => name.includes("\ufffd")) ? oddNamesIn(path) : [];
  const isOdd = (name: string) => oddNames.some((odd) => odd.toString() === name);
  const directories: string[] = [];
  const marks: RepositoryMark[] = [];
  for (const entry of entries) {
    const form = formOfName(entry.name);
    if (form !== undefined) marks.push({ path: join(path, entry.name), form });
    else if (mayBeDirectory(entry) && !isOdd(entry.name)) directories.push(join(path, entry.name));
  }
  if (isLaidOutBare(entries.map(({ name }) => name))) marks.push({ path, form: "bare" });
  return { directories, marks, oddNames };
}

/** Something else may lie by the name that such a one is read as. */
function oddNamesIn(path: string): readonly Buffer[] {
  const names = readdirSync(path, { encoding: "buffer" }).filter((name) => !Buffer.from(name.toString()).equals(name));
  return names.filter((name) => unlessRefused(() => lstatSync(bytesOf(path, name)).isDirectory()) === true);
}

export function bytesOf(directory: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), name]);
}

/** Some file systems do not say in the listing what an entry is. */
function mayBeDirectory(entry: Dirent): boolean {
  if (entry.isDirectory()) return true;
  if (entry.isFile() || entry.isSymbolicLink() || entry.isFIFO() || entry.isSocket()) return false;
  return !entry.isBlockDevice() && !entry.isCharacterDevice();
}

/** The coarsest clock of a file system in use ticks every two seconds. */
const tickNs = 2_000_000_000n;

/** A later change cannot have the same time any more. */
function isSettled({ ctimeNs }: BigIntStats): boolean {
  return BigInt(Date.now()) * 1_000_000n - ctimeNs > tickNs;
}
