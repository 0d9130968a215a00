import { basename, dirname, join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { errnoOf } from "../../errors.ts";
import { bytesAt, entryAt, sameSignature, type Entry, type PresentEntry } from "../../files/entry.ts";
import { Replaced, type HeldDirectory } from "../../files/held.ts";
import { isBelow } from "../../files/path.ts";

/** A protected path and all that is in it, by paths relative to it. Its own is ".", and a directory comes first. */
export type Memory = { takenAtMs: number; entries: ReadonlyMap<string, Entry> };

export type Place = { parent: HeldDirectory; name: string };

export type Remembering = {
  /** The last memory of the path, which spares reading what did not change since. */
  last?: Memory | undefined;
  /** How many more bytes may be kept. */
  room: { bytes: number };
};

/** Of a larger file it can be told that it changed, but not what it was. */
const mostFileBytes = 8 * 1024 * 1024;

export async function remember(place: Place, { last, room }: Remembering): Promise<Memory> {
  const takenAtMs = Date.now();
  const entries = new Map<string, Entry>();
  await visitEntries(place, ".", {
    namesIn: (path, directory) => namesInOpen(path, entries) ?? directory.names(),
    visit(path, entry, at) {
      if (entry.kind === "missing") forget(path);
      else if (entry.kind === "file" || entry.kind === "symlink") entries.set(path, withContent(path, entry, at));
      else entries.set(path, { ...entry, isOpen: namesInOpen(path, entries) !== undefined });
    },
    refused(_path, error) {
      throw error;
    },
  });
  return { takenAtMs, entries };

  /** An entry that the user's own git removes while its directory is listed need not stay away. */
  function forget(path: string): void {
    for (const inner of entries.keys()) if (path === "." || isBelow(inner, path)) entries.delete(inner);
    if (path === "." || namesInOpen(dirname(path), entries) !== undefined) entries.set(path, { kind: "missing" });
  }

  function withContent(path: string, entry: PresentEntry, at: string): Entry {
    const before = last?.entries.get(path);
    const size = entry.signature?.size ?? 0;
    if (size > mostFileBytes || size > room.bytes) return entry;
    room.bytes -= size;
    if (last !== undefined && before !== undefined && isUntouched(before, entry, last)) return before;
    const bytes = bytesAt(at, entry);
    return { ...entry, content: { length: bytes.length, read: () => bytes } };
  }
}

/** A directory that must stay where it is, whatever happens in it. */
export function rememberPlace({ parent, name }: Place): Memory {
  const entry = entryAt(parent.at(name));
  const kept: Entry = entry.kind === "directory" ? { ...entry, isOpen: true } : { kind: "missing" };
  return { takenAtMs: Date.now(), entries: new Map([[".", kept]]) };
}

/** Entries that may not be what they were: all of them, unless something could not be looked into. */
export type Touched = { rows: (readonly [path: string, before: Entry])[]; isComplete: boolean };

export async function touchedSince(memory: Memory, place: Place): Promise<Touched> {
  const { entries } = memory;
  const touched: Touched = { rows: [], isComplete: true };
  const seen = new Set<string>();
  await visitEntries(place, ".", {
    namesIn(path, directory) {
      const before = entries.get(path);
      // What is in a directory that has come goes with it.
      if (before?.kind !== "directory") return [];
      if (before.isOpen !== true) return directory.names();
      return [...entries.keys()]
        .filter((inner) => inner !== "." && dirname(inner) === path)
        .map((inner) => basename(inner));
    },
    visit(path, entry) {
      const before = entries.get(path) ?? { kind: "missing" };
      if (!isUntouched(before, entry, memory)) touched.rows.push([path, before]);
      seen.add(path);
    },
    refused(_path, error) {
      if (errnoOf(error) === undefined && !(error instanceof Replaced)) throw error;
      touched.isComplete = false;
    },
  });
  for (const [path, before] of entries) if (!seen.has(path)) touched.rows.push([path, before]);
  return touched;
}

type Visitor = {
  /** The names in a directory that count. */
  namesIn(path: string, directory: HeldDirectory): readonly string[];
  /** `at` is good only until this returns. */
  visit(path: string, entry: Entry, at: string): void;
  refused(path: string, error: unknown): void;
};

async function visitEntries({ parent, name }: Place, path: string, visitor: Visitor): Promise<void> {
  try {
    const at = parent.at(name);
    const entry = entryAt(at);
    if (isLock(name) && entry.kind === "file") return;
    visitor.visit(path, entry, at);
    if (entry.kind !== "directory") return;
    await yieldToEventLoop();
    using directory = parent.child(name);
    for (const inner of visitor.namesIn(path, directory))
      await visitEntries({ parent: directory, name: inner }, join(path, inner), visitor);
  } catch (error) {
    const isGone = errnoOf(error) === "ENOENT" && parent.look(name) === undefined;
    if (isGone) visitor.visit(path, { kind: "missing" }, "");
    else visitor.refused(path, error);
  }
}

/** In a git directory: what is in these is much and runs nothing, but for what says where more objects are. */
const partly = new Map([
  ["objects", ["info"]],
  ["lfs", []],
]);

function namesInOpen(path: string, entries: Memory["entries"]): readonly string[] | undefined {
  return entries.has(join(dirname(path), "HEAD")) ? partly.get(basename(path)) : undefined;
}

/** git's own locks come and go with what the user does at the same time, and nothing reads what is in them. */
function isLock(name: string): boolean {
  return name.endsWith(".lock");
}

/** The coarsest clock of a file system in use ticks every two seconds. */
const tickMs = 2000;

/** An entry that was older than a tick when it was looked at cannot have been changed in the same tick. */
function isUntouched(before: Entry, now: Entry, { takenAtMs }: Memory): boolean {
  if (before.kind === "missing" || now.kind === "missing") return before.kind === now.kind;
  const isSettled = before.signature !== undefined && before.signature.changedMs < takenAtMs - tickMs;
  return isSettled && sameSignature(before.signature, now.signature);
}
