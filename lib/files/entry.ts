import { lstatSync, readlinkSync } from "node:fs";
import { openRegular, Replaced } from "./held.ts";
import { isAt, readUpTo } from "./read.ts";
import { kindOf, type FileKind } from "./walk.ts";

const fields = ["mode", "uid", "gid", "size", "modifiedMs", "changedMs", "device", "inode"] as const;

/** Parts of an entry's stats of which one changes, next to certainly, when it is written to. */
export type Signature = Readonly<Record<(typeof fields)[number], number>>;

/** The bytes of a file, or the target of a symlink, wherever they are kept. */
export type Content = { readonly length: number; read(): Uint8Array };

/** An entry of a directory, as it was at one moment. */
export type Entry = { kind: "missing" } | PresentEntry;

export type PresentEntry = {
  kind: Exclude<FileKind, "missing">;
  /** As the system has it, with the type. */
  mode: number;
  /** Absent for what was not looked at itself: git's index described it, or it was stored. */
  signature?: Signature | undefined;
  /** The number of its names, where it was looked at. */
  links?: number;
  /** It was old enough when it was looked at that no later change can have left it the same signature. */
  isSettled?: boolean;
  /** Absent when it was not kept. */
  content?: Content | undefined;
  /** Of a directory: whether more may be in it than is remembered. Nothing else is said when it is absent. */
  isOpen?: boolean;
};

/** Without its content. Throws when the system refuses the look. */
export function entryAt(path: string): Entry {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "missing" };
  const { mode, uid, gid, size, mtimeMs, ctimeMs, dev, ino, nlink: links } = stats;
  const signature = { mode, uid, gid, size, modifiedMs: mtimeMs, changedMs: ctimeMs, device: dev, inode: ino };
  return { kind: kindOf(stats), mode, signature, links };
}

/**
 * The content of a file or symlink, and no more of it than there is at this moment. With `isReal` it throws when a
 * symlink has been put on the way to the file.
 */
export function bytesAt(path: string, { kind }: PresentEntry, { isReal = false } = {}): Uint8Array {
  if (kind === "symlink") return readlinkSync(path, "buffer");
  using file = openRegular(path);
  if (isReal && !isAt(file.descriptor, path)) throw new Replaced(path);
  const limit = Number(file.stats.size);
  return readUpTo(file.descriptor, { limit, atOnce: limit });
}

/** By the signatures where they can tell, or else by the contents. The present one is read at `path`. */
export function isSameEntry(before: Entry, now: Entry, path: string): boolean {
  if (before.kind === "missing" || now.kind === "missing" || before.kind !== now.kind) return before.kind === now.kind;
  const hasContent = now.kind === "file" || now.kind === "symlink";
  if ((before.isSettled === true || (hasContent && before.content === undefined)) && isSameSignature(before, now))
    return true;
  if (now.kind !== "symlink" && before.mode !== now.mode) return false;
  if (now.kind === "directory") return before.signature === undefined || isSameOwner(before.signature, now.signature);
  if (!hasContent) return true;
  if (before.content === undefined || before.content.length !== now.signature?.size) return false;
  return Buffer.compare(before.content.read(), bytesAt(path, now)) === 0;
}

export function isSameSignature({ signature: one }: PresentEntry, { signature: other }: PresentEntry): boolean {
  return one !== undefined && other !== undefined && fields.every((field) => one[field] === other[field]);
}

function isSameOwner(one: Signature, other: Signature | undefined): boolean {
  return one.uid === other?.uid && one.gid === other.gid;
}
