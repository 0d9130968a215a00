import {
  fchmodSync,
  futimesSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  type BigIntStats,
} from "node:fs";
import { join } from "node:path";
import { errnoOf, messageOf, reasonOf, unlessRefused } from "../../errors.ts";
import { Replaced, type HeldDirectory } from "../../files/held.ts";
import { keepOwner, putFile } from "../../files/save.ts";
import { identityOf } from "./listing.ts";
import { isLock, isSame, type Memory } from "./memory.ts";
import { setAside } from "./setaside.ts";

/** What was done, by the paths of the entries. */
export type Mending = {
  quarantine: string;
  putBack: Set<string>;
  /** What is not as it was, and could not be made so. */
  lost: Set<string>;
  /** Why not, for the first that the system refused. */
  error?: string;
};

export type Spot = { parent: HeldDirectory; name: string; mending: Mending };

/** Makes an entry what it was when it was remembered; one failure does not keep the others from being mended. */
export async function putBack(memory: Memory, spot: Spot): Promise<void> {
  try {
    await putBackEntry(memory, spot);
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof Replaced)) throw error;
    lose(spot, errnoOf(error) === undefined ? messageOf(error) : reasonOf(error));
  }
}

async function putBackEntry(memory: Memory, spot: Spot): Promise<void> {
  switch (memory.kind) {
    case "missing":
      if (spot.parent.look(spot.name) !== undefined) await clear(spot);
      return;
    case "file":
      return putBackFile(memory, spot);
    case "symlink":
      return putBackSymlink(memory, spot);
    case "directory":
      return putBackDirectory(memory, spot);
    case "other":
      return;
    default:
      return memory satisfies never;
  }
}

const pathOf = ({ parent, name }: Spot) => join(parent.path, name);

function lose(spot: Spot, error?: string): void {
  spot.mending.lost.add(pathOf(spot));
  if (error !== undefined) spot.mending.error ??= error;
}

/** Moves away what is there: nothing that a command wrote is thrown away. */
async function clear(spot: Spot): Promise<void> {
  const stats = spot.parent.look(spot.name);
  if (stats === undefined) return;
  const reason = "it was not there before";
  const moved = await setAside({ path: pathOf(spot), identity: identityOf(stats), reason }, spot.mending.quarantine);
  if (moved.kind === "failed") lose(spot, moved.error);
  else spot.mending.putBack.add(pathOf(spot));
}

type Remembered<Kind extends Memory["kind"]> = Extract<Memory, { kind: Kind }>;

async function putBackFile(memory: Remembered<"file">, spot: Spot): Promise<void> {
  if (isUnchanged(memory, spot)) return;
  if (memory.bytes === undefined) return lose(spot);
  const now = spot.parent.look(spot.name);
  if (now !== undefined && !now.isFile()) await clear(spot);
  const { stats } = memory;
  putFile({ directory: spot.parent, name: spot.name }, memory.bytes, {
    finish(descriptor) {
      keepOwner(descriptor, stats);
      fchmodSync(descriptor, permissionsOf(stats));
      // git tells by the times of its index which files it must look at again.
      futimesSync(descriptor, secondsOf(stats.atimeNs), secondsOf(stats.mtimeNs));
    },
  });
  spot.mending.putBack.add(pathOf(spot));
}

function isUnchanged({ stats, bytes, isSettled }: Remembered<"file">, { parent, name }: Spot): boolean {
  const now = parent.look(name);
  if (now === undefined || !now.isFile()) return false;
  if (isSame(stats, now) && (isSettled || bytes === undefined)) return true;
  if (bytes === undefined || now.mode !== stats.mode || now.size !== BigInt(bytes.length)) return false;
  using file = parent.openFile(name);
  return readFileSync(file.descriptor).equals(bytes);
}

const permissionsOf = ({ mode }: BigIntStats) => Number(mode & 0o7777n);

/** Rounded down: an index that looks older than it is only makes git look once more. */
const secondsOf = (ns: bigint) => Number(ns / 1000n) / 1_000_000;

async function putBackSymlink({ target, stats }: Remembered<"symlink">, spot: Spot): Promise<void> {
  const { parent, name } = spot;
  const now = parent.look(name);
  if (now?.isSymbolicLink() === true && readlinkSync(parent.at(name)) === target) return;
  await clear(spot);
  symlinkSync(target, parent.at(name));
  unlessRefused(() => lchownSync(parent.at(name), Number(stats.uid), Number(stats.gid)));
  spot.mending.putBack.add(pathOf(spot));
}

async function putBackDirectory(memory: Remembered<"directory">, spot: Spot): Promise<void> {
  const { parent, name, mending } = spot;
  if (parent.look(name)?.isDirectory() !== true) {
    await clear(spot);
    mkdirSync(parent.at(name), 0o700);
    mending.putBack.add(pathOf(spot));
    // What was in it besides is gone.
    if (memory.isOpen) lose(spot);
  }
  using directory = parent.child(name);
  const now = parent.look(name);
  if (now !== undefined && (memory.stats.uid !== now.uid || memory.stats.gid !== now.gid))
    directory.chown(memory.stats);
  if (now !== undefined && permissionsOf(memory.stats) !== permissionsOf(now)) {
    directory.chmod(permissionsOf(memory.stats));
    mending.putBack.add(pathOf(spot));
  }
  // Once a directory everything else gets its turn.
  await new Promise((resolve) => setImmediate(resolve));
  for (const [inner, entry] of memory.entries) await putBack(entry, { parent: directory, name: inner, mending });
  if (memory.isOpen) return;
  for (const inner of directory.names()) {
    if (memory.entries.has(inner)) continue;
    const added = { parent: directory, name: inner, mending };
    if (!isLock(inner) || directory.look(inner)?.isFile() !== true) await putBack({ kind: "missing" }, added);
  }
}
