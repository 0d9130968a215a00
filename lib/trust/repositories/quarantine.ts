import { renameSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { HeldDirectory, Replaced } from "../../files/held.ts";
import { makeWritable } from "./blind.ts";
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
export function moveToQuarantine({ path, identity, reason }: Suspect, quarantine: string): RepositoryFinding {
  const id = crypto.randomUUID().slice(0, 8);
  try {
    using parent = HeldDirectory.open(dirname(path));
    makeWritable(parent);
    const entry = { parent, name: basename(path), identity };
    // Nothing is copied: an entry can be of any size. On another file system it stays, and git takes it for nothing.
    const movedTo = unlessRefused(() => carryToQuarantine(entry, quarantine, id)) ?? disarm(entry, id);
    return { kind: "quarantined", path, reason, movedTo };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return { kind: "failed", path, reason, problem: "could not move it away", error: reasonOf(error) };
  }
}

type Entry = { parent: HeldDirectory; name: string; identity: string };

function carryToQuarantine(entry: Entry, quarantine: string, id: string): string {
  const { parent, name } = entry;
  const day = new Date().toISOString().slice(0, 10);
  using goal = HeldDirectory.open(join(quarantine, `${day}-${id}`), { create: true });
  checkIdentity(entry);
  letMove(entry);
  try {
    renameSync(parent.at(name), goal.at(name));
  } catch (error) {
    unlessRefused(() => rmdirSync(goal.path));
    throw error;
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

/** Renames an entry that cannot be moved away, without what makes git take it for a repository. */
function disarm(entry: Entry, id: string): string {
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
