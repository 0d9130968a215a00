import { readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../errors.ts";
import { Contents, putWhole, unfinished } from "./contents.ts";
import { readManifest } from "./manifest.ts";
import { sessionPath } from "./record.ts";

/** Snapshots of all sessions take no more space than this; the oldest go first. */
const mostSnapshotBytes: number = 2 * 1024 * 1024 * 1024;

/** A process may be about to name a content that is younger. */
const settledMs = 60 * 60 * 1000;

type SweepOptions = {
  /** The sessions that there are; those of the others are removed. Absent when all may be there. */
  sessions?: readonly string[];
  mostBytes?: number;
};

/**
 * Removes the snapshots of sessions that are gone, those that are too many, contents that none needs, and what killed
 * processes left. Returns how many turns of other sessions can no longer be restored.
 */
export function sweepSnapshots(snapshots: string, { sessions, mostBytes = mostSnapshotBytes }: SweepOptions): number {
  if (statSync(snapshots, { throwIfNoEntry: false }) === undefined) return 0;
  const contents = new Contents(snapshots);
  const { stays, freed } = withoutGone(storedIn(snapshots), snapshots, sessions);
  const uses = new Map<string, number>();
  for (const hash of stays.flatMap(({ hashes }) => hashes)) uses.set(hash, (uses.get(hash) ?? 0) + 1);

  const sizes = new Map<string, number>();
  for (const { hash, bytes, usedMs } of contents.list()) {
    if (uses.has(hash)) sizes.set(hash, bytes);
    else if (freed.has(hash) || usedMs < Date.now() - settledMs) contents.remove(hash);
  }
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, bytes) => total + bytes, 0);
  let total = sum(sizes.values()) + sum(stays.map(({ bytes }) => bytes));

  let forgotten = 0;
  for (const oldest of stays.sort((one, other) => one.usedMs - other.usedMs)) {
    if (total <= mostBytes) break;
    forget(oldest.path);
    forgotten++;
    total -= oldest.bytes;
    for (const hash of oldest.hashes) {
      const left = (uses.get(hash) ?? 0) - 1;
      uses.set(hash, left);
      if (left > 0) continue;
      contents.remove(hash);
      total -= sizes.get(hash) ?? 0;
    }
  }
  noteSize(snapshots, total);
  return forgotten;
}

/** Sweeps when what a turn added made them too large. */
export function makeRoom(snapshots: string, added: number, mostBytes: number = mostSnapshotBytes): number {
  return countAdded(snapshots, added) <= mostBytes ? 0 : sweepSnapshots(snapshots, { mostBytes });
}

/** Two processes may write at once and the sum be too small; each sweep measures it. */
export function countAdded(snapshots: string, added: number): number {
  const total = Number(unlessRefused(() => readFileSync(sizeFile(snapshots), "utf8")) ?? "unknown") + added;
  if (!Number.isNaN(total)) noteSize(snapshots, total);
  return total;
}

/** On a full disk it stays as it was; the next sweep corrects it. */
function noteSize(snapshots: string, bytes: number): void {
  unlessRefused(() => putWhole(sizeFile(snapshots), String(bytes)));
}

function sizeFile(snapshots: string): string {
  return join(snapshots, "size");
}

type Stored = { path: string; usedMs: number; bytes: number; hashes: readonly string[] };

function storedIn(snapshots: string): Stored[] {
  const directory = dirname(sessionPath({ snapshots, session: "" }));
  return namesIn(directory).flatMap((session) =>
    namesIn(join(directory, session)).flatMap((name) => {
      const path = join(directory, session, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return [];
      if (name.startsWith(unfinished)) {
        if (stats.mtimeMs < Date.now() - settledMs) forget(path);
        return [];
      }
      return [{ path, usedMs: stats.mtimeMs, bytes: stats.size, hashes: hashesIn(path) }];
    }),
  );
}

function namesIn(directory: string): string[] {
  return unlessRefused(() => readdirSync(directory)) ?? [];
}

function hashesIn(path: string): string[] {
  const manifests = readManifest(path);
  if (!Array.isArray(manifests)) return [];
  const changes = manifests.flatMap((manifest) => manifest.changes);
  return [...new Set(changes.flatMap(({ before }) => (before.kind === "missing" ? [] : (before.hash ?? []))))];
}

/** Removes what belongs to no session, and tells which contents that frees. */
function withoutGone(stored: readonly Stored[], snapshots: string, sessions: SweepOptions["sessions"]) {
  const live = sessions && new Set(sessions.map((session) => sessionPath({ snapshots, session })));
  const isLive = ({ path }: Stored) => live?.has(dirname(path)) ?? true;
  const gone = stored.filter((each) => !isLive(each));
  for (const { path } of gone) forget(path);
  return { stays: stored.filter(isLive), freed: new Set(gone.flatMap(({ hashes }) => hashes)) };
}

function forget(path: string): void {
  rmSync(path, { force: true });
  // The last one takes its session's directory with it.
  unlessRefused(() => rmdirSync(dirname(path)));
}
