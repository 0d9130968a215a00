import { lstatSync, readdirSync, type BigIntStats, type Dirent } from "node:fs";
import { join } from "node:path";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { identityOf, statsAt, tickMs } from "./identity.ts";
import { formOfName, isLaidOutBare, type Form } from "./names.ts";

export type RepositoryMark = { path: string; form: Exclude<Form, "target"> };

export type Listing = {
  identity: string;
  state: string;
  /** It was read long enough after its last change: a later one cannot have the same time. */
  isSettled: boolean;
  /** Those that are to be looked into. */
  directories: readonly string[];
  marks: readonly RepositoryMark[];
  /** Directories whose names are not UTF-8, and so lie at no path that koda could write down. */
  odd: readonly Buffer[];
};

/** The known listing where it still holds; undefined when it cannot be read; what is gone meanwhile is empty. */
export function listDirectory(path: string, known: Listing | undefined): Listing | undefined {
  try {
    const before = statsAt(path);
    if (!before?.isDirectory()) return empty;
    const state = stateOf(before);
    if (known?.isSettled === true && known.state === state) return known;

    const entries = readdirSync(path, { withFileTypes: true });
    // Fails where names may be listed, but nothing can be known of what has them.
    const after = statsAt(`${path}/.`);
    const isSame = after !== undefined && stateOf(after) === state;
    const isSettled = isSame && Date.now() - Number(before.ctimeMs) > tickMs;
    return { identity: identityOf(before), state, isSettled, ...sorted(path, entries) };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno === "ENOENT" || errno === "ENOTDIR" ? empty : undefined;
  }
}

const empty: Listing = { identity: "", state: "", isSettled: false, directories: [], marks: [], odd: [] };

function stateOf({ dev, ino, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${mtimeNs}:${ctimeNs}`;
}

function sorted(path: string, entries: readonly Dirent[]): Pick<Listing, "directories" | "marks" | "odd"> {
  const odd = entries.some(({ name }) => name.includes("\ufffd")) ? oddIn(path) : [];
  const isOdd = (name: string) => odd.some((bytes) => bytes.toString() === `${path}/${name}`);
  const directories: string[] = [];
  const marks: RepositoryMark[] = [];
  for (const entry of entries) {
    const form = formOfName(entry.name);
    if (form !== undefined) marks.push({ path: join(path, entry.name), form });
    // There may be repositories in what belongs to other tools, as their work trees.
    const isClosed = form !== undefined && form !== "config";
    if (!isClosed && mayBeDirectory(entry) && !isOdd(entry.name)) directories.push(join(path, entry.name));
  }
  if (isLaidOutBare(entries.map(({ name }) => name))) marks.push({ path, form: "bare" });
  return { directories, marks, odd };
}

/** Something else may lie by the name that such a one is read as. */
export function oddIn(path: string): readonly Buffer[] {
  return readdirSync(path, { encoding: "buffer" })
    .filter((name) => !Buffer.from(name.toString()).equals(name))
    .map((name) => Buffer.concat([Buffer.from(`${path}/`), name]))
    .filter((odd) => unlessRefused(() => lstatSync(odd).isDirectory()) === true);
}

/** Some file systems do not say in the listing what an entry is. */
function mayBeDirectory(entry: Dirent): boolean {
  if (entry.isDirectory()) return true;
  if (entry.isFile() || entry.isSymbolicLink() || entry.isFIFO() || entry.isSocket()) return false;
  return !entry.isBlockDevice() && !entry.isCharacterDevice();
}
