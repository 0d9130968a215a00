import { closeSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { runGit, streamGit, type GitRun } from "../../git/program.ts";
import { HeldTree, latin1Bytes, piecesOf } from "./heldtree.ts";
import { assertPatchSize } from "./patchsize.ts";
import { removeDirectory } from "./remove.ts";

/** The objects of changed entries that the tree itself has had, by name. */
export type OwnEntries = ReadonlyMap<string, string>;

/** The name is bytes, a character for each. */
type IndexEntry = { name: string; mode: string; id: string };

/**
 * Keeps in the index only what the tree itself has. A command may put a symlink in the place of a directory while git
 * reads it, and git, which nothing confines, would follow it to files that are hidden from the command. So what differs
 * from the base is read once more, through no symlink, unless it is `known`. Returns what is known now.
 */
export async function keepOwnEntries(run: GitRun, base: string, known: OwnEntries): Promise<OwnEntries> {
  const entries = await changedEntries(run, base);
  using tree = new HeldTree(run.workTree);
  const others: IndexEntry[] = [];
  for await (const entry of inTurn(entries, run.signal))
    if (known.get(entry.name) !== entry.id && !(await isOwn(entry, tree, run.signal))) others.push(entry);
  if (others.length > 0) await readAgain(run, tree, others);
  const found = others.length > 0 ? await changedEntries(run, base) : entries;
  return new Map(found.map(({ name, id }) => [name, id]));
}

const entriesAtOnce = 100;

/** In turn with everything else: a worker has to say that it lives. */
async function* inTurn(entries: readonly IndexEntry[], signal: AbortSignal): AsyncGenerator<IndexEntry, void> {
  for (const [index, entry] of entries.entries()) {
    if (index % entriesAtOnce === 0) await yieldToEventLoop(signal);
    yield entry;
  }
}

const listCommand = [
  "diff-index",
  "--cached",
  "--raw",
  "-z",
  "--no-renames",
  "--no-abbrev",
  "--ignore-submodules=none",
];

async function changedEntries(run: GitRun, base: string): Promise<IndexEntry[]> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of streamGit(run, [...listCommand, base])) {
    size += piece.length;
    // The patch is longer than this list.
    assertPatchSize(size);
    pieces.push(piece);
  }
  const listed = Buffer.concat(pieces).toString("latin1");
  const found = listed.matchAll(/:\d+ (\d+) \w+ (\w+) \w\0([^\0]+)\0/g);
  return Array.from(found, ([, mode = "", id = "", name = ""]) => ({ name, mode, id }));
}

/** Of a submodule the index has only the commit, and of what is deleted nothing. */
async function isOwn({ name, mode, id }: IndexEntry, tree: HeldTree, signal: AbortSignal): Promise<boolean> {
  if (mode === "000000") return true;
  using found = tree.open(name);
  if (mode === "160000") return found?.kind === "directory";
  if (found === undefined || found.kind === "directory") return false;
  const hash = new Bun.CryptoHasher(id.length === 64 ? "sha256" : "sha1").update(`blob ${found.size}\0`);
  for await (const piece of piecesOf(found, signal)) hash.update(piece);
  return hash.digest("hex") === id;
}

/**
 * git has converted the others, or they have changed since: it reads them again, from copies that no command can reach.
 * Those that are not in the tree leave the index.
 */
async function readAgain(run: GitRun, tree: HeldTree, entries: readonly IndexEntry[]): Promise<void> {
  const copies = join(run.directory, "koda-copies");
  const [there, gone]: [string[], string[]] = [[], []];
  await removeDirectory(copies);
  mkdirSync(copies);
  for await (const { name } of inTurn(entries, run.signal))
    ((await copy(name, tree, { to: copies, signal: run.signal })) ? there : gone).push(name);
  const again = { ...run, workTree: copies, cwd: copies };
  await runGit(again, ["update-index", "-z", "--force-remove", "--stdin"], zeroEnded(gone));
  await runGit(again, ["update-index", "-z", "--add", "--stdin"], zeroEnded(there));
  await removeDirectory(copies);
}

type Copying = { to: string; signal: AbortSignal };

async function copy(name: string, tree: HeldTree, { to, signal }: Copying): Promise<boolean> {
  using found = tree.open(name);
  if (found === undefined || found.kind === "directory") return false;
  const path = latin1Bytes(`${Buffer.from(to).toString("latin1")}/${name}`);
  mkdirSync(path.subarray(0, path.lastIndexOf("/")), { recursive: true });
  if (found.kind === "link") {
    symlinkSync(found.target, path);
    return true;
  }
  const descriptor = openSync(path, "wx", found.mode | 0o600);
  try {
    for await (const piece of piecesOf(found, signal)) writeFileSync(descriptor, piece);
  } finally {
    closeSync(descriptor);
  }
  return true;
}

export function zeroEnded(names: readonly string[]): Uint8Array {
  return latin1Bytes(names.map((name) => `${name}\0`).join(""));
}
