import { fchmodSync, futimesSync, lchownSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { errnoOf, reasonOf, unlessRefused } from "../errors.ts";
import { entryAt, isSameEntry, type Content, type Entry, type PresentEntry } from "./entry.ts";
import { namesIn, type HeldDirectory } from "./held.ts";
import { keepOwner, putFile, type HeldEntry } from "./save.ts";

/** An entry that was not what it should be; one with a problem still is not. */
export type Restoration = { path: string; problem?: RestoreProblem };

/** Lost is what was not kept; anything else the system or a rule refused. */
type RestoreProblem = { kind: "lost" | "refused"; reason: string };

type Restoring = {
  /** Removes what lies where nothing lay, or something of another kind. Throws when it has to stay. */
  clear(target: HeldEntry): void | Promise<void>;
  /** Entries that may come and go in any directory. */
  isExempt?(target: HeldEntry): boolean;
  /** Files get their old times as well: git tells by those of its index which files it must look at again. */
  keepsTimes?: boolean;
  /** Files lose a second name that they got: by that they could be changed later. */
  keepsNames?: boolean;
};

export class Unrestorable extends Error {
  override readonly name = "Unrestorable";
  readonly kind: RestoreProblem["kind"];

  constructor({ kind, reason }: RestoreProblem) {
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
  entries: ReadonlyMap<string, Entry>,
  restoring: Restoring,
): Promise<readonly Restoration[]> {
  const restorations: Restoration[] = [];
  using way = new HeldPath(base);
  const attempt = async (path: string, before: Entry) => {
    try {
      if (await restoreEntry(before, { way, path, restoring })) restorations.push({ path });
    } catch (error) {
      restorations.push({ path, problem: problemOf(error) });
    }
  };
  for (const [path, before] of entries) {
    await attempt(path, before);
    if (before.kind !== "directory" || before.isOpen !== false) continue;
    await yieldToEventLoop();
    const directory = unlessRefused(() => way.to(path));
    for (const name of unlessRefused(() => directory?.names()) ?? []) {
      const isKnown = entries.has(join(path, name)) || (directory && restoring.isExempt?.({ directory, name }));
      if (isKnown !== true) await attempt(join(path, name), { kind: "missing" });
    }
  }
  return restorations;
}

/** Holds the directories on the way to one path after the other; those that neighbours share are opened once. */
class HeldPath implements Disposable {
  readonly #base: HeldDirectory;
  readonly #held: { name: string; directory: HeldDirectory }[] = [];

  constructor(base: HeldDirectory) {
    this.#base = base;
  }

  to(path: string, { create = false } = {}): HeldDirectory {
    const names = namesIn(path);
    const end = names.findIndex((name, index) => this.#held[index]?.name !== name);
    const shared = end === -1 ? names.length : end;
    this.#release(shared);
    for (const name of names.slice(shared)) this.#held.push({ name, directory: this.#last.child(name, { create }) });
    return this.#last;
  }

  get #last(): HeldDirectory {
    return this.#held.at(-1)?.directory ?? this.#base;
  }

  #release(from: number): void {
    for (const { directory } of this.#held.splice(from)) directory[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#release(0);
  }
}

export function problemOf(error: unknown): RestoreProblem {
  if (error instanceof Unrestorable) return { kind: error.kind, reason: error.message };
  if (errnoOf(error) === undefined) throw error;
  return { kind: "refused", reason: reasonOf(error) };
}

type Spot = { way: HeldPath; path: string; restoring: Restoring };

/** False when the entry is as it was. */
async function restoreEntry(before: Entry, { way, path, restoring }: Spot): Promise<boolean> {
  const create = before.kind !== "missing";
  // Without a directory that can be entered there is nothing to remove.
  const directory = create ? way.to(dirname(path), { create }) : unlessRefused(() => way.to(dirname(path), { create }));
  if (directory === undefined) return false;
  const target = { directory, name: basename(path) };
  const at = directory.at(target.name);
  const now = entryAt(at);
  // A socket and its like hold nothing that could be restored.
  const isSpecial = /^(fifo|socket|device)$/.test(before.kind);
  const hasOtherName = restoring.keepsNames === true && linksOf(now) > linksOf(before);
  if (isSameEntry(before, now, at) && !hasOtherName) return false;
  if (isSpecial && (now.kind === "missing" || now.kind === before.kind)) return false;
  const content = contentOf(before);
  const isInTheWay = now.kind !== "missing" && (now.kind !== before.kind || now.kind === "symlink");
  if (isInTheWay) await restoring.clear(target);
  if (before.kind === "directory") writeDirectory(before, { target, now });
  else if (before.kind !== "missing" && content !== undefined)
    writeContent(before, { target, now, content, restoring });
  return true;
}

function linksOf(entry: Entry): number {
  return entry.kind === "file" ? (entry.links ?? 1) : 1;
}

/** Throws where there should be some and it was not kept: what is there now then stays. */
function contentOf(entry: Entry): Content | undefined {
  if (entry.kind !== "file" && entry.kind !== "symlink") return undefined;
  if (entry.content === undefined) throw new Unrestorable({ kind: "lost", reason: "its content was not kept" });
  return entry.content;
}

type Place = { target: HeldEntry; now: Entry };
type Writing = Place & { content: Content; restoring: Restoring };

function writeContent({ kind, mode, signature }: PresentEntry, { target, now, content, restoring }: Writing): void {
  const { directory, name } = target;
  const owner = signature ?? (now.kind === "file" ? now.signature : undefined) ?? statSync(directory.cwd);
  if (kind === "symlink") {
    symlinkSync(Buffer.from(content.read()), directory.at(name));
    return unlessRefused(() => lchownSync(directory.at(name), owner.uid, owner.gid));
  }
  putFile(target, content.read(), {
    finish(descriptor) {
      keepOwner(descriptor, owner);
      fchmodSync(descriptor, mode & permissionBits);
      // Rounded down: an index that looks older than it is only makes git look once more.
      const seconds = Math.floor((signature?.modifiedMs ?? 0) * 1000) / 1_000_000;
      if (restoring.keepsTimes === true) futimesSync(descriptor, seconds, seconds);
    },
  });
}

const permissionBits = 0o7777;

/** A directory that was gone comes back empty: its entries follow. */
function writeDirectory({ mode, signature, isOpen }: PresentEntry, { target, now }: Place): void {
  const { directory, name } = target;
  if (now.kind !== "directory") mkdirSync(directory.at(name), 0o700);
  using made = directory.child(name);
  if (signature !== undefined) made.chown(signature);
  made.chmod(mode & permissionBits);
  if (now.kind !== "directory" && isOpen === true)
    throw new Unrestorable({ kind: "lost", reason: "what else was in it is gone" });
}
