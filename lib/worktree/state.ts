import { largestCopy } from "../files/copies.ts";
import { bytesAt, entryAt, type Entry } from "../files/entry.ts";
import { unlessRefused } from "../errors.ts";
import { hashOf } from "./contents.ts";

/**
 * A file or symlink as it is compared later: by the hash of its content, and a very large one by its size and time.
 * With neither it is like no other.
 */
export type FileState =
  | { kind: "missing" }
  | { kind: "file" | "symlink"; mode: number; hash?: string | undefined; stamp?: string | undefined };

/** `hash` is called with the content when it is small enough to be kept. */
export function stateOf(entry: Entry, hash: (bytes: Uint8Array) => string = hashOf): FileState {
  if (entry.kind !== "file" && entry.kind !== "symlink") return { kind: "missing" };
  const { kind, mode, signature, content } = entry;
  if (content !== undefined && content.length <= largestCopy) {
    const bytes = unlessRefused(() => content.read());
    return { kind, mode, hash: bytes && hash(bytes) };
  }
  return { kind, mode, stamp: signature && `${signature.size} ${signature.modifiedMs}` };
}

/** The state at a path that leads through no symlink. */
export function stateAt(path: string, hash?: (bytes: Uint8Array) => string): FileState {
  const entry = unlessRefused(() => entryAt(path)) ?? { kind: "missing" };
  if (entry.kind === "missing") return entry;
  const content = { length: entry.signature?.size ?? 0, read: () => bytesAt(path, entry, { isReal: true }) };
  return stateOf({ ...entry, content }, hash);
}

export function isSameState(one: FileState, other: FileState): boolean {
  if (one.kind === "missing" || other.kind === "missing" || one.kind !== other.kind) return one.kind === other.kind;
  if (one.kind === "file" && (one.mode & 0o7777) !== (other.mode & 0o7777)) return false;
  const isSameHash = one.hash !== undefined && one.hash === other.hash;
  return isSameHash || (one.stamp !== undefined && one.stamp === other.stamp);
}
