import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { errnoOf, unlessRefused } from "../../errors.ts";
import { bytesAt, entryAt, isSameSignature, type Entry, type PresentEntry } from "../../files/entry.ts";
import type { HeldDirectory } from "../../files/held.ts";
import { isBelow } from "../../files/path.ts";
import { tickMs } from "./identity.ts";

/** A protected path and all that is in it, by paths that begin with its name. A directory comes before its entries. */
export type Memory = ReadonlyMap<string, Entry>;

type Remembering = {
  /** The last memory of the path, which spares reading what did not change since. */
  last?: Memory | undefined;
  /** How many more bytes may be kept. */
  room: { bytes: number };
};

export async function remember(parent: HeldDirectory, name: string, work: Remembering): Promise<Memory> {
  const entries = new Map<string, Entry>();
  await add({ parent, path: name }, entries, work);
  return entries;
}

type Place = { parent: HeldDirectory; path: string };

async function add({ parent, path }: Place, entries: Map<string, Entry>, work: Remembering): Promise<void> {
  const at = parent.at(basename(path));
  try {
    const entry = entryAt(at);
    if (entry.kind === "missing") return forget(path, entries);
    if (entry.kind === "file" || entry.kind === "symlink")
      return void entries.set(path, withContent(entry, { at, path, ...work }));
    if (entry.kind !== "directory") return void entries.set(path, entry);

    using directory = parent.child(basename(path));
    await yieldToEventLoop();
    const isGits = entries.has(join(dirname(path), "HEAD"));
    const only = isGits ? partly.get(basename(path)) : othersHistory.test(path) ? [] : undefined;
    entries.set(path, { ...entry, isOpen: only !== undefined });
    for (const name of only ?? directory.names())
      if (!isLock(directory, name)) await add({ parent: directory, path: join(path, name) }, entries, work);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || parent.look(basename(path)) !== undefined) throw error;
    forget(path, entries);
  }
}

/** An entry that the user's own git removes while its directory is listed need not stay away; one that counts must. */
function forget(path: string, entries: Map<string, Entry>): void {
  for (const inner of entries.keys()) if (isBelow(inner, path)) entries.delete(inner);
  const parent = entries.get(dirname(path));
  if (parent?.kind !== "directory" || parent.isOpen === true) entries.set(path, { kind: "missing" });
}

/** In a git directory: what is in these is much and runs nothing, but for what says where more objects are. */
const partly = new Map([
  ["objects", ["info"]],
  ["lfs", []],
]);

/** The same for Mercurial and Jujutsu. */
const othersHistory = /^(\.hg\/(store|w?cache)|\.jj\/repo\/(index|op_store))$/i;

/** git's own locks come and go with what the user does at the same time, and nothing reads what is in them. */
export function isLock(directory: HeldDirectory, name: string): boolean {
  return name.endsWith(".lock") && directory.look(name)?.isFile() === true;
}

/** Of a larger file it can be told that it changed, but not what it was. */
const mostFileBytes = 8 * 1024 * 1024;

function withContent(entry: PresentEntry, { at, path, last, room }: Remembering & { at: string; path: string }): Entry {
  const { size = 0, changedMs = Infinity } = entry.signature ?? {};
  const looked = { ...entry, isSettled: changedMs < Date.now() - tickMs };
  if (size > mostFileBytes || size > room.bytes) return looked;
  room.bytes -= size;
  const before = last?.get(path);
  if (before !== undefined && before.kind !== "missing" && before.isSettled && isSameSignature(before, entry))
    return before;
  const bytes = bytesAt(at, entry);
  return { ...looked, content: { length: bytes.length, read: () => bytes } };
}

/** As if no file had had a second name. */
export function withOneName(memory: Memory): Memory {
  return new Map([...memory].map(([path, entry]) => [path, entry.kind === "file" ? { ...entry, links: 1 } : entry]));
}

/** A directory that must stay where it is, whatever happens in it. */
export function rememberPlace(parent: HeldDirectory, name: string): Memory {
  const entry = entryAt(parent.at(name));
  return new Map([[name, entry.kind === "directory" ? { ...entry, isOpen: true } : { kind: "missing" as const }]]);
}

/**
 * The packs of a repository and its directories of loose objects, by name. They are too much to keep, so no guard can
 * restore them; but a history must not be lost without a word.
 */
export function objectsIn(gitDirectory: string): ReadonlySet<string> {
  const objects = join(gitDirectory, "objects");
  const names = (path: string) => unlessRefused(() => readdirSync(path)) ?? [];
  const loose = names(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return new Set([...loose, ...names(join(objects, "pack")).filter((name) => name.endsWith(".pack"))]);
}

/** Those that are gone. A new pack may hold what was in them: git itself removes the old ones then. */
export function missingObjects(before: ReadonlySet<string>, now: ReadonlySet<string>): readonly string[] {
  const isRepacked = [...now].some((name) => name.endsWith(".pack") && !before.has(name));
  return isRepacked ? [] : [...before].filter((name) => !now.has(name));
}
