import { renameSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, reasonOf } from "../../errors.ts";
import { HeldDirectory, Replaced } from "../../files/held.ts";
import { removeTree } from "../../files/remove.ts";
import { copyEntry } from "./copy.ts";
import type { RepositoryFinding } from "./finding.ts";
import { identityOf } from "./identity.ts";

type Suspect = {
  /** Real but for its last part. */
  path: string;
  /** Of what was judged: nothing else by that name is moved. */
  identity: string;
  reason: string;
};

/**
 * Moves an entry into the quarantine, where no one uses git. Every step is taken in directories that are held, so that
 * a symlink put in the way at the same time leads nowhere.
 */
export async function moveToQuarantine(
  { path, identity, reason }: Suspect,
  quarantine: string,
): Promise<RepositoryFinding> {
  const id = crypto.randomUUID().slice(0, 8);
  try {
    using parent = HeldDirectory.open(dirname(path));
    const entry = { parent, name: basename(path), identity };
    const movedTo = await moveAway(entry, { quarantine, id });
    return { kind: "quarantined", path, reason, movedTo };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return { kind: "failed", path, reason, problem: "could not move it away", error: reasonOf(error) };
  }
}

type Entry = { parent: HeldDirectory; name: string; identity: string };
type Goal = { quarantine: string; id: string };

async function moveAway(entry: Entry, goal: Goal): Promise<string> {
  try {
    return await carryToQuarantine(entry, goal);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return disarm(entry, goal);
  }
}

async function carryToQuarantine(entry: Entry, { quarantine, id }: Goal): Promise<string> {
  const { parent, name } = entry;
  const day = new Date().toISOString().slice(0, 10);
  using goal = HeldDirectory.open(join(quarantine, `${day}-${id}`), { create: true });
  checkIdentity(entry);
  letMove(entry);
  try {
    renameSync(parent.at(name), goal.at(name));
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
    await carryOver(entry, goal);
  }
  return join(goal.path, name);
}

/** Moving a directory changes its `..`, which takes the right to write in it. */
function letMove({ parent, name }: Entry): void {
  const stats = parent.look(name);
  if (!stats?.isDirectory() || (stats.mode & 0o700n) === 0o700n) return;
  using directory = parent.child(name);
  directory.chmod(Number(stats.mode & 0o7777n) | 0o700);
}

/** The quarantine is on another file system. */
async function carryOver({ parent, name }: Entry, goal: HeldDirectory): Promise<void> {
  try {
    await copyEntry(parent, name, goal);
  } catch (error) {
    await remove(goal, name);
    throw error;
  }
  await remove(parent, name);
}

async function remove(directory: HeldDirectory, name: string): Promise<void> {
  const stats = directory.look(name);
  if (stats?.isDirectory()) await removeTree(directory, name, { keep: () => undefined, signal: never });
  else if (stats !== undefined) unlinkSync(directory.at(name));
}

/** A move that was begun is finished, even when the run is being stopped. */
const never = new AbortController().signal;

/** Renames an entry that cannot be moved away, without what makes git take it for a repository. */
function disarm(entry: Entry, { id }: Goal): string {
  const { parent, name } = entry;
  checkIdentity(entry);
  letMove(entry);
  const suffix = `.set-aside-by-koda-${id}`;
  if (parent.look(name)?.isDirectory()) {
    using directory = parent.child(name);
    if (directory.look("HEAD") !== undefined) renameSync(directory.at("HEAD"), directory.at(`HEAD${suffix}`));
  }
  renameSync(parent.at(name), parent.at(`${name}${suffix}`));
  return join(parent.path, `${name}${suffix}`);
}

function checkIdentity({ parent, name, identity }: Entry): void {
  const stats = parent.look(name);
  if (stats === undefined || identityOf(stats) !== identity) throw new Replaced(join(parent.path, name));
}
