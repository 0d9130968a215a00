import { readFileSync, readlinkSync, type BigIntStats } from "node:fs";
import { errnoOf } from "../../errors.ts";
import type { HeldDirectory } from "../../files/held.ts";
import { isSettled } from "./listing.ts";

/** What is remembered of an entry, with all that is in it. */
export type Memory =
  | { kind: "missing" }
  /** Without bytes when they are too many to be kept. */
  | { kind: "file"; stats: BigIntStats; bytes: Uint8Array | undefined; isSettled: boolean }
  | { kind: "symlink"; stats: BigIntStats; target: string }
  | {
      kind: "directory";
      stats: BigIntStats;
      entries: ReadonlyMap<string, Memory>;
      /** Other entries may come and go. */
      isOpen: boolean;
    }
  /** A socket, a FIFO or a device: git makes nothing of it. */
  | { kind: "other"; stats: BigIntStats };

/** Larger files are known by their size and times only: that they changed can be told, but not what they were. */
const mostFileBytes = 8 * 1024 * 1024;

export type Remembering = {
  /** What was remembered of the entry the last time, which spares reading what did not change. */
  before?: Memory | undefined;
  /** How many more bytes may be kept. */
  room: { bytes: number };
  /** The only entries of the directory that matter. */
  only?: readonly string[] | undefined;
};

export async function remember(parent: HeldDirectory, name: string, work: Remembering): Promise<Memory> {
  try {
    return await rememberEntry(parent, name, work);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || parent.look(name) !== undefined) throw error;
    return { kind: "missing" };
  }
}

async function rememberEntry(parent: HeldDirectory, name: string, work: Remembering): Promise<Memory> {
  const stats = parent.look(name);
  if (stats === undefined) return { kind: "missing" };
  if (stats.isSymbolicLink()) return { kind: "symlink", stats, target: readlinkSync(parent.at(name)) };
  if (stats.isFile()) return rememberFile(parent, name, work);
  if (!stats.isDirectory()) return { kind: "other", stats };

  using directory = parent.child(name);
  // Once a directory everything else gets its turn.
  await new Promise((resolve) => setImmediate(resolve));
  return { kind: "directory", stats, ...(await rememberEntries(directory, work)) };
}

/** A directory that must stay where it is, whatever happens in it. */
export function rememberPlace(parent: HeldDirectory, name: string): Memory {
  const stats = parent.look(name);
  return stats?.isDirectory() ? { kind: "directory", stats, entries: new Map(), isOpen: true } : { kind: "missing" };
}

/** In a git directory: what is in these is much and runs nothing, but for what says where more objects are. */
const partly = new Map([
  ["objects", ["info"]],
  ["lfs", []],
]);

async function rememberEntries(directory: HeldDirectory, { before, room, only }: Remembering) {
  const names = only ?? directory.names();
  const isGitDirectory = names.includes("HEAD");
  const entries = new Map<string, Memory>();
  for (const name of names) {
    if (isLock(name) && directory.look(name)?.isFile() === true) continue;
    const last = before?.kind === "directory" ? before.entries.get(name) : undefined;
    const memory = await remember(directory, name, {
      before: last,
      room,
      only: isGitDirectory ? partly.get(name) : undefined,
    });
    // What the user's own git removed since the directory was listed need not stay away.
    if (only !== undefined || memory.kind !== "missing") entries.set(name, memory);
  }
  return { entries, isOpen: only !== undefined };
}

/** git's own locks come and go with what the user does at the same time, and nothing reads what is in them. */
export function isLock(name: string): boolean {
  return name.endsWith(".lock");
}

function rememberFile(parent: HeldDirectory, name: string, { before, room }: Remembering): Memory {
  using file = parent.openFile(name);
  const { stats } = file;
  const isUnchanged = before?.kind === "file" && before.isSettled && isSame(before.stats, stats);
  const isSmall = stats.size <= mostFileBytes && stats.size <= room.bytes;
  const bytes = !isSmall ? undefined : isUnchanged ? before.bytes : readFileSync(file.descriptor);
  room.bytes -= bytes?.length ?? 0;
  return { kind: "file", stats, bytes, isSettled: isSettled(stats) };
}

export function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return (["dev", "ino", "mode", "size", "mtimeNs", "ctimeNs"] as const).every((field) => one[field] === other[field]);
}
