import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import { errnoOf, KodaError, reasonOf, unlessRefused } from "../../errors.ts";
import { tryLock } from "../../system/descriptors.ts";
import { isBelow } from "../../files/path.ts";
import type { Policy } from "../policy/policy.ts";
import { protectedIn } from "./layout.ts";
import { look } from "./host.ts";

/**
 * A stand-in holds the place of something protected that is missing, so that a command cannot make it: a mount needs a
 * place. It is empty, and there as long as any command of any koda holds a lock on it. Its mode tells it from something
 * empty of the user's own; one that a killed koda left is used and removed by the next.
 */
const modes = { directory: 0o500, file: 0o400 } as const;
type Kind = keyof typeof modes;

const attempts = 10;

/** Stand-ins for everything that a policy protects below a writable root, and that is not there yet. */
export function standInsFor(policy: Policy): Disposable {
  const { write } = policy;
  using held = new DisposableStack();
  for (const path of protectedIn(policy))
    if (write.some((root) => isBelow(path, root)) && isStandInOrMissing(path)) held.use(hold(path));
  return held.move();
}

function isStandInOrMissing(path: string): boolean {
  const kind = look(path);
  return kind === undefined || (kind !== "link" && (lstatSync(path).mode & 0o7777) === modes[kind]);
}

/** Something empty that another command needs where it is, of this koda or of another one. */
export function isStandIn(path: string): boolean {
  const isEmpty = () => (look(path) === "directory" ? readdirSync(path).length === 0 : lstatSync(path).size === 0);
  // Between two looks it may go.
  return unlessRefused(() => look(path) !== undefined && isStandInOrMissing(path) && isEmpty()) ?? false;
}

/** Undefined when something else is there already, nothing can be there, or the placeholder has to stay. */
function hold(path: string): Disposable | undefined {
  try {
    return tryHold(path);
  } catch (error) {
    if (cannotBeMade(path, error)) return undefined;
    throw new KodaError("sandbox", `Cannot protect "${path}", which is not there yet: ${reasonOf(error)}`);
  }
}

function tryHold(path: string): Disposable | undefined {
  const kind = kindOf(path);
  const parents = makeParents(path);
  for (let attempt = 0; attempt < attempts; attempt++) {
    make(path, kind);
    const opened = open(path, kind);
    if (opened === "something else") return undefined;
    if (opened === "gone") continue;
    // It may have been removed between the two.
    if (tryLock(opened, "shared") && isStill(path, opened))
      return { [Symbol.dispose]: () => release(path, { kind, parents, opened }) };
    closeSync(opened);
  }
  // It is there, but cannot be locked, as on some network file systems.
  return undefined;
}

type Held = { kind: Kind; parents: readonly string[]; opened: number };

/** The last one that holds it removes it. */
function release(path: string, { kind, parents, opened }: Held): void {
  try {
    if (!tryLock(opened, "alone") || !isStill(path, opened)) return;
    if (kind === "directory") removeIfEmpty(path);
    else if (fstatSync(opened).size === 0) unlessRefused(() => unlinkSync(path));
    for (const parent of parents) removeIfEmpty(parent);
  } finally {
    closeSync(opened);
  }
}

/** git takes a directory by that name for a file that cannot be read, and does nothing any more. */
function kindOf(path: string): Kind {
  return path.endsWith("/.gitconfig") ? "file" : "directory";
}

/** Makes the directories on the way; returns those that were missing, the deepest first. */
function makeParents(path: string): readonly string[] {
  const parent = dirname(path);
  if (look(parent) !== undefined) return [];
  const above = makeParents(parent);
  try {
    mkdirSync(parent, { mode: 0o700 });
    return [parent, ...above];
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return above;
    throw error;
  }
}

function make(path: string, kind: Kind): void {
  const mode = modes[kind];
  try {
    if (kind === "directory") mkdirSync(path, { mode });
    else closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/**
 * Commands have no rights that koda has not; but the owner of a directory could give itself the right to write in it.
 */
function cannotBeMade(path: string, error: unknown): boolean {
  if (errnoOf(error) === "EROFS") return true;
  const parent = unlessRefused(() => statSync(nearest(dirname(path))));
  return errnoOf(error) === "EACCES" && parent !== undefined && parent.uid !== process.geteuid?.();
}

function nearest(path: string): string {
  return look(path) === undefined && path !== "/" ? nearest(dirname(path)) : path;
}

function open(path: string, kind: Kind): number | "something else" | "gone" {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const opened = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (kind === "directory" ? O_DIRECTORY : 0));
    if ((fstatSync(opened).mode & 0o7777) === modes[kind]) return opened;
    closeSync(opened);
    return "something else";
  } catch (error) {
    return errnoOf(error) === "ENOENT" ? "gone" : "something else";
  }
}

function isStill(path: string, opened: number): boolean {
  const now = unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
  const then = fstatSync(opened);
  return now?.ino === then.ino && now.dev === then.dev;
}

/** It may have something in it by now, or a command took the right to remove it. */
function removeIfEmpty(directory: string): void {
  unlessRefused(() => rmdirSync(directory));
}
