import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  type BigIntStats,
} from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../errors.ts";
import { Replaced, type HeldDirectory, type Ownership } from "./held.ts";

/**
 * Writing whole files inside a held directory. A reader sees the old content or the new, never a part, and a failure
 * (a full disk, say) leaves the old one in place.
 */
export type HeldEntry = { directory: HeldDirectory; name: string };

/** Throws EEXIST when there is something by that name, were it only for a moment. */
export function createFile(target: HeldEntry, content: Uint8Array): void {
  const { directory, name } = target;
  // The empty file takes the name, which only one can do, and shows the permission bits that the system gives.
  const claim = openSync(directory.at(name), newFile, 0o666);
  const claimed = fstatSync(claim, { bigint: true });
  try {
    replaceFile(target, content, claimed);
  } catch (error) {
    if (isSame(directory.look(name), claimed)) rmSync(directory.at(name));
    throw error;
  } finally {
    closeSync(claim);
  }
}

/** Replaces the file that was looked at, `old`, and only that one; its owner and permission bits are kept. */
export function replaceFile(target: HeldEntry, content: Uint8Array, old: BigIntStats): void {
  const { directory, name } = target;
  // A rename asks for the directory's permission only, and a file that is read-only should be safe from us.
  accessSync(directory.at(name), constants.W_OK);
  putFile(target, content, {
    finish(descriptor) {
      keepOwner(descriptor, old);
      fchmodSync(descriptor, Number(old.mode & permissionBits));
      if (!isSame(directory.look(name), old)) throw new Replaced(join(directory.path, name));
    },
  });
}

/** Without set-user-id and its like: the kernel too drops those when a file is written to. */
const permissionBits = 0o777n;

type NewFile = {
  /** Narrowed by the umask. */
  mode?: number;
  /** Sets what else the file is to have before it can be seen by its name. */
  finish?: (descriptor: number) => void;
};

/** Gives a name a new file with this content, whatever file or symlink had the name before. */
export function putFile(target: HeldEntry, content: Uint8Array, options: NewFile): void {
  closeSync(beginFile(target, content, options));
}

/** The same for a file that goes on: returns its descriptor. */
export function beginFile(
  { directory, name }: HeldEntry,
  content: Uint8Array,
  { mode = 0o600, finish }: NewFile,
): number {
  const temporary = `.koda-${crypto.randomUUID()}.tmp`;
  const descriptor = openSync(directory.at(temporary), newFile, mode);
  try {
    writeFileSync(descriptor, content);
    finish?.(descriptor);
    renameSync(directory.at(temporary), directory.at(name));
    return descriptor;
  } catch (error) {
    rmSync(directory.at(temporary), { force: true });
    closeSync(descriptor);
    throw error;
  }
}

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export function keepOwner(descriptor: number, owner: Ownership): void {
  const [uid, gid] = [Number(owner.uid), Number(owner.gid)];
  const mine = fstatSync(descriptor);
  if (mine.uid === uid && mine.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    // Only root may give a file away; for everyone else it becomes their own, as with any editor.
    if (errnoOf(error) !== "EPERM") throw error;
  }
}

function isSame(now: BigIntStats | undefined, then: BigIntStats): boolean {
  if (now === undefined) return false;
  return (["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const).every((field) => now[field] === then[field]);
}
