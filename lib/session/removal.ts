import { KodaError } from "../errors.ts";
import { readAgents } from "./agents.ts";
import type { Database } from "./database.ts";
import { forgetWords } from "./fulltext.ts";
import { assertFree, isHeld } from "./lease.ts";
import { deleteSession, readSessions, type SessionInfo } from "./log.ts";

/** A session with its agents, which are removed with it. */
export type Family = { info: SessionInfo; agents: readonly SessionInfo[] };

function familyOf(db: Database, info: SessionInfo): Family {
  return { info, agents: readAgents(db, info) };
}

/** To be called in a transaction. Throws `session_held` while a process holds the session or one of its agents'. */
export function removeFamily(db: Database, info: SessionInfo): Family {
  const family = familyOf(db, info);
  assertFree(db, info.id, "It can be deleted when that process has ended.");
  for (const { id } of family.agents)
    assertFree(db, id, `It is that of an agent of "${info.id}", which can be deleted when that process has ended.`);
  deleteFamily(db, family);
  return family;
}

/** Sessions that were not used for long: those that can be deleted, or were, and those that a process holds. */
export type OldSessions = { unused: Family[]; held: Family[] };

/** The sessions that were not used since then, nor their agents. */
export function sessionsBefore(db: Database, before: number): OldSessions {
  const isOrphan = "NOT EXISTS (SELECT 1 FROM session AS other WHERE other.id = session.parent)";
  const old = readSessions(db, `updated_at < ? AND (agent IS NULL OR ${isOrphan}) ORDER BY updated_at`, [before]);
  const found: OldSessions = { unused: [], held: [] };
  for (const family of old.map((info) => familyOf(db, info)))
    if (isOld(family, before)) found[isFamilyHeld(db, family) ? "held" : "unused"].push(family);
  return found;
}

/** Deletes those that no process holds. */
export function removeUnused(db: Database, before: number): OldSessions {
  const { unused, held } = sessionsBefore(db, before);
  const removed: Family[] = [];
  // One by one, so that other processes can write in between; each may have been used again by now.
  for (const { info } of unused)
    db.write(() => {
      const [now] = readSessions(db, "id = ?", [info.id]);
      const family = now && familyOf(db, now);
      if (family === undefined || !isOld(family, before) || isFamilyHeld(db, family)) return;
      deleteFamily(db, family);
      removed.push(family);
    });
  if (removed.length > 0) shrink(db);
  return { unused: removed, held };
}

function isOld({ info, agents }: Family, before: number): boolean {
  return [info, ...agents].every(({ updatedAt }) => updatedAt < before);
}

function isFamilyHeld(db: Database, { info, agents }: Family): boolean {
  return [info, ...agents].some(({ id }) => isHeld(db, id));
}

function deleteFamily(db: Database, { info, agents }: Family): void {
  for (const { id } of [...agents, info]) deleteSession(db, id);
  forgetWords(db);
}

/** With more pages in use, other processes would wait for longer than a moment. */
const mostRewrittenPages = 50_000;

/** Gives the free pages back to the file system when they are more than half of the file. */
function shrink(db: Database): void {
  const sizes = "SELECT freelist_count AS free, page_count AS pages FROM pragma_freelist_count, pragma_page_count";
  const { free, pages } = db.get<{ free: number; pages: number }>(sizes) ?? { free: 0, pages: 0 };
  if (free * 2 < pages || pages - free > mostRewrittenPages) return;
  try {
    // The index has deleted texts until it is merged.
    db.run("INSERT INTO search (search) VALUES ('optimize')");
    db.script("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    // The database is in use or the disk is full: the pages stay in the file, for the next sessions.
    if (!(error instanceof KodaError)) throw error;
  }
}
