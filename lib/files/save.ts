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
  using staged = stageFile(target, content);
  staged.create();
}

/** Replaces the file that was looked at, `old`, and only that one; its owner and permission bits are kept. */
export function replaceFile(target: HeldEntry, content: Uint8Array, old: BigIntStats): void {
  assertWritable(target);
  using staged = stageFile(target, content);
  staged.replace(old);
}

/** A rename asks for the directory's permission only, and a file that is read-only should be safe from us. */
export function assertWritable({ directory, name }: HeldEntry): void {
  accessSync(directory.at(name), constants.W_OK);
}

/** A whole file that waits under a temporary name; disposed before it gets its own, it is removed. */
type StagedFile = Disposable & {
  /** As `createFile`; with the owner and permission bits of another file, if one is given. */
  create(like?: BigIntStats): void;
  /** As `replaceFile`. */
  replace(old: BigIntStats): void;
};

export function stageFile(target: HeldEntry, content: Uint8Array): StagedFile {
  const staged = stage(target, content, 0o600);
  let state: "waiting" | "placed" | "closed" = "waiting";
  const take = (old: BigIntStats, like: BigIntStats) => {
    place(target, staged, (descriptor) => {
      copyOwnerAndMode(descriptor, like);
      assertUnchanged(target, old);
    });
    state = "placed";
  };
  return {
    create: (like) => withClaim(target, (claimed) => take(claimed, like ?? claimed)),
    replace: (old) => take(old, old),
    [Symbol.dispose]() {
      if (state === "waiting") discard(target, staged);
      else if (state === "placed") closeSync(staged.descriptor);
      state = "closed";
    },
  };
}

/** An empty file takes the name, which only one can do, and shows the permission bits that the system gives. */
function withClaim({ directory, name }: HeldEntry, take: (claimed: BigIntStats) => void): void {
  const claim = openSync(directory.at(name), newFile, 0o666);
  const claimed = fstatSync(claim, { bigint: true });
  try {
    take(claimed);
  } catch (error) {
    if (isSame(directory.look(name), claimed)) rmSync(directory.at(name));
    throw error;
  } finally {
    closeSync(claim);
  }
}

/** Throws when something else has the name by now, or the file was written to. */
export function assertUnchanged({ directory, name }: HeldEntry, old: BigIntStats): void {
  if (!isSame(directory.look(name), old)) throw new Replaced(join(directory.path, name));
}

export function copyOwnerAndMode(descriptor: number, like: BigIntStats): void {
  keepOwner(descriptor, like);
  fchmodSync(descriptor, Number(like.mode & permissionBits));
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
export function beginFile(target: HeldEntry, content: Uint8Array, { mode = 0o600, finish }: NewFile): number {
  const staged = stage(target, content, mode);
  try {
    place(target, staged, finish);
    return staged.descriptor;
  } catch (error) {
    discard(target, staged);
    throw error;
  }
}

type Staged = { descriptor: number; temporary: string };

function stage({ directory }: HeldEntry, content: Uint8Array, mode: number): Staged {
  const temporary = temporaryName();
  const descriptor = openSync(directory.at(temporary), newFile, mode);
  try {
    writeFileSync(descriptor, content);
    return { descriptor, temporary };
  } catch (error) {
    discard({ directory }, { descriptor, temporary });
    throw error;
  }
}

function place({ directory, name }: HeldEntry, { descriptor, temporary }: Staged, finish: NewFile["finish"]): void {
  finish?.(descriptor);
  renameSync(directory.at(temporary), directory.at(name));
}

function discard({ directory }: Pick<HeldEntry, "directory">, { descriptor, temporary }: Staged): void {
  rmSync(directory.at(temporary), { force: true });
  closeSync(descriptor);
}

export function temporaryName(): string {
  return `.koda-${crypto.randomUUID()}.tmp`;
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
