import { closeSync, lstatSync, readlinkSync } from "node:fs";
import { openRegular } from "./held.ts";
import { readUpTo } from "./read.ts";
import { kindOf, type Kind } from "./walk.ts";

/** Parts of an entry's stats of which one changes, next to certainly, when somebody writes to it. */
export type Signature = {
  mode: number;
  uid: number;
  gid: number;
  size: number;
  modifiedMs: number;
  changedMs: number;
  device: number;
  inode: number;
};

/** The bytes of a file, or the target of a symlink, wherever they are kept. */
export type Content = { readonly length: number; read(): Uint8Array };

/** An entry of a directory, as it was at one moment. */
export type Entry = { kind: "missing" } | PresentEntry;

export type PresentEntry = {
  kind: Exclude<Kind, "missing">;
  /** As the system has it, with the type. */
  mode: number;
  /** Absent for a file that git's index described: that knows whether it can be executed, and no more. */
  signature?: Signature | undefined;
  /** Absent when it was not kept. */
  content?: Content | undefined;
  /** Of a directory: more may come and go in it than is remembered. */
  isOpen?: boolean;
};

/** Without its content. Throws when the system refuses the look. */
export function entryAt(path: string): Entry {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return { kind: "missing" };
  const { mode, uid, gid, size, mtimeMs, ctimeMs, dev, ino } = stats;
  const signature = { mode, uid, gid, size, modifiedMs: mtimeMs, changedMs: ctimeMs, device: dev, inode: ino };
  return { kind: kindOf(stats), mode, signature };
}

/** The content of a file or symlink, and no more of it than there was when the entry was looked at. */
export function bytesAt(path: string, { kind, signature }: PresentEntry): Uint8Array {
  if (kind === "symlink") return readlinkSync(path, "buffer");
  const { descriptor } = openRegular(path);
  try {
    const limit = signature?.size ?? 0;
    return readUpTo(descriptor, { limit, atOnce: limit });
  } finally {
    closeSync(descriptor);
  }
}

export function sameSignature(one: Signature | undefined, other: Signature | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return fields.every((field) => one[field] === other[field]);
}

const fields = ["mode", "uid", "gid", "size", "modifiedMs", "changedMs", "device", "inode"] as const;

/** By the contents, or by the signatures when the earlier content was not kept. The present one is read at `path`. */
export function isSameEntry(before: Entry, now: Entry, path: string): boolean {
  if (before.kind === "missing" || now.kind === "missing") return before.kind === now.kind;
  if (before.kind !== now.kind) return false;
  if (now.kind !== "symlink" && modeAfter(before, now) !== now.mode) return false;
  if (now.kind === "directory") return isSameOwner(before.signature, now.signature);
  if (now.kind !== "file" && now.kind !== "symlink") return true;
  if (before.content === undefined) return sameSignature(before.signature, now.signature);
  return before.content.length === now.signature?.size && bytesEqual(before.content.read(), bytesAt(path, now));
}

function isSameOwner(one: Signature | undefined, other: Signature | undefined): boolean {
  return one === undefined || (one.uid === other?.uid && one.gid === other.gid);
}

function bytesEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** The mode that the present entry gets when the earlier one is restored. */
export function modeAfter(before: PresentEntry, now: PresentEntry): number {
  if (before.signature !== undefined) return before.mode;
  const [was, is] = [before.mode & 0o100, now.mode & 0o100];
  if (was === is) return now.mode;
  // As git does it: who may read may execute.
  return is === 0 ? now.mode | ((now.mode & 0o444) >> 2) : now.mode & ~0o111;
}
