import { fchmodSync, futimesSync, lchownSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { errnoOf, reasonOf, unlessRefused } from "../errors.ts";
import { entryAt, isSameEntry, modeAfter, type Entry, type PresentEntry } from "./entry.ts";
import { Replaced, type HeldDirectory } from "./held.ts";
import { keepOwner, putFile, type Target } from "./save.ts";

/** An entry that was not what it should be; one with a problem still is not. */
export type Restoration = { path: string; problem?: Problem };

export type Problem = {
  /** Lost is what was not kept; anything else the system or the policy refused. */
  kind: "lost" | "refused";
  reason: string;
};

export type Restoring = {
  /** Removes what lies where nothing lay, or something of another kind. Throws when it has to stay. */
  clear(target: Target): void | Promise<void>;
  /** Why nothing may be written at a path, if so. */
  refuse?(path: string): string | undefined;
  /** Files get their old times as well: git tells by those of its index which files it must look at again. */
  keepsTimes?: boolean;
};

export class Unrestorable extends Error {
  override readonly name = "Unrestorable";
  readonly kind: Problem["kind"];

  constructor(kind: Problem["kind"], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/**
 * Makes entries below a directory what they were. Paths are relative to it, and a directory comes before what is in it.
 * Every step is taken in directories that are held open, so no symlink leads it elsewhere, and a failure concerns its
 * own entry alone.
 */
export async function restoreEntries(
  base: HeldDirectory,
  rows: Iterable<readonly [path: string, before: Entry]>,
  restoring: Restoring,
): Promise<readonly Restoration[]> {
  const all = [...rows];
  // A directory that has come is empty when it is its turn, and out of the way of what was in its place.
  const added = all.filter(([, { kind }]) => kind === "missing").reverse();
  const others = all.filter(([, { kind }]) => kind !== "missing");
  const restorations: Restoration[] = [];
  for (const [path, before] of [...added, ...others]) {
    try {
      if (await restoreEntry(before, { base, path, restoring })) restorations.push({ path });
    } catch (error) {
      restorations.push({ path, problem: problemOf(error) });
    }
  }
  return restorations;
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Unrestorable) return { kind: error.kind, reason: error.message };
  if (error instanceof Replaced) return { kind: "refused", reason: error.message };
  if (errnoOf(error) === undefined) throw error;
  return { kind: "refused", reason: reasonOf(error) };
}

type Spot = { base: HeldDirectory; path: string; restoring: Restoring };

/** False when the entry is as it was. */
async function restoreEntry(before: Entry, { base, path, restoring }: Spot): Promise<boolean> {
  if (isAsBefore(before, base, path)) return false;
  const refusal = restoring.refuse?.(path);
  if (refusal !== undefined) throw new Unrestorable("refused", refusal);
  using directory = base.descend(dirname(path), { create: before.kind !== "missing" });
  await write(before, { directory, name: basename(path) }, restoring);
  return true;
}

function isAsBefore(before: Entry, base: HeldDirectory, path: string): boolean {
  try {
    using directory = base.descend(dirname(path));
    const at = directory.at(basename(path));
    return isSameEntry(before, entryAt(at), at);
  } catch (error) {
    // Without the directories on the way there is nothing.
    const isAbsent = error instanceof Replaced || /^(ENOENT|ENOTDIR|ELOOP)$/.test(errnoOf(error) ?? "");
    if (!isAbsent) throw error;
    return before.kind === "missing";
  }
}

async function write(before: Entry, target: Target, restoring: Restoring): Promise<void> {
  const now = entryAt(target.directory.at(target.name));
  switch (before.kind) {
    case "missing":
      return restoring.clear(target);
    case "file":
      if (now.kind !== "file" && now.kind !== "missing") await restoring.clear(target);
      return writeFile(before, { target, now, keepsTimes: restoring.keepsTimes ?? false });
    case "symlink":
      if (now.kind !== "missing") await restoring.clear(target);
      return writeSymlink(before, target);
    case "directory":
      if (now.kind !== "directory" && now.kind !== "missing") await restoring.clear(target);
      return writeDirectory(before, { target, now });
    default:
      throw new Unrestorable("lost", `it was a ${before.kind}`);
  }
}

type Writing = { target: Target; now: Entry; keepsTimes: boolean };

function writeFile(before: PresentEntry, { target, now, keepsTimes }: Writing): void {
  const { signature } = before;
  const there = now.kind === "file" ? now : undefined;
  const known = signature === undefined ? there : before;
  const owner = signature ?? there?.signature ?? statSync(target.directory.cwd);
  putFile(target, keptBytes(before), {
    mode: known === undefined ? 0o666 | (before.mode & 0o111) : 0o600,
    finish(descriptor) {
      keepOwner(descriptor, owner);
      if (known !== undefined) fchmodSync(descriptor, modeAfter(before, known) & permissionBits);
      // Rounded down: an index that looks older than it is only makes git look once more.
      const seconds = Math.floor((signature?.modifiedMs ?? 0) * 1000) / 1_000_000;
      if (keepsTimes && signature !== undefined) futimesSync(descriptor, seconds, seconds);
    },
  });
}

const permissionBits = 0o7777;

function keptBytes({ content }: PresentEntry): Uint8Array {
  if (content === undefined) throw new Unrestorable("lost", "its content was not kept");
  return content.read();
}

function writeSymlink(before: PresentEntry, { directory, name }: Target): void {
  const { signature } = before;
  symlinkSync(Buffer.from(keptBytes(before)), directory.at(name));
  if (signature !== undefined) unlessRefused(() => lchownSync(directory.at(name), signature.uid, signature.gid));
}

/** A directory that was gone comes back empty: its entries follow. */
function writeDirectory(before: PresentEntry, { target, now }: Omit<Writing, "keepsTimes">): void {
  const { directory, name } = target;
  if (now.kind !== "directory") mkdirSync(directory.at(name), 0o700);
  using made = directory.child(name);
  if (before.signature !== undefined) made.chown(before.signature);
  made.chmod(before.mode & permissionBits);
  if (now.kind !== "directory" && before.isOpen === true) throw new Unrestorable("lost", "what else was in it is gone");
}
