import { counted } from "../counted.ts";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { isBelow } from "../files/path.ts";
import { findGit } from "../git/program.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { Copies, type Place } from "./copies.ts";
import { listFiles, listFilesAgain, mostFiles, type Project } from "./listing.ts";
import { describeChange, type Change, type FileChange } from "./patch.ts";
import { originals } from "./repository.ts";
import { createLook, sameSignature, versionAt, type Signature, type Version } from "./version.ts";

/*
 * What a turn changed in the project, whoever changed it: koda's tools, or any program that a command ran. A snapshot
 * remembers what is needed to tell later how every file was. That is a copy of each file, but for those in a git
 * repository that are as its index has them: git can hand them out. Nothing of the user's is touched for it: not the
 * index, not the objects, no configuration is obeyed and no hook, filter or monitor is run.
 */

export type Snapshot = AsyncDisposable & {
  readonly project: Project;
  readonly takenAtMs: number;
  /** Undefined when there are too many files to watch. */
  readonly files: ReadonlyMap<string, Kept> | undefined;
  readonly copies: Copies;
  readonly isOwn: IsOwn;
};

/** Tells the files that koda itself writes, by what was at the path before: their changes are not the turn's. */
export type IsOwn = (path: string, now: Signature, before: Signature | undefined) => boolean;

/** What is remembered of one file: null when there was none. */
type Kept = { signature: Signature; place: Place | undefined } | null;

export type WorkDiff = {
  files: readonly FileChange[];
  /** A unified diff of them. */
  patch: string;
  /** What the user should know about its limits. */
  notes: readonly string[];
};

export type SnapshotOptions = {
  policy: Policy;
  /** Where temporary directories are made. Commands may not be able to write in it. */
  temporary: string;
  /** The user's PATH, for finding git. */
  searchPath: string | undefined;
  isOwn?: IsOwn;
};

export async function takeSnapshot(options: SnapshotOptions, signal: AbortSignal): Promise<Snapshot> {
  const { policy, temporary, searchPath, isOwn = () => false } = options;
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const scratch = realpathSync(mkdtempSync(join(temporary, "koda-snapshot-")));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  try {
    const git = findGit(searchPath, [policy.root, ...policy.write]);
    const project: Project = { policy, git, scratch, repositories: new Map(), notes: [] };
    const takenAtMs = Date.now();
    const paths = await listFiles(project, signal);
    const copies = new Copies(join(scratch, "copies"));
    const files = paths.size > mostFiles ? undefined : await keepFiles(paths, copies, signal);
    return {
      project,
      takenAtMs,
      files,
      copies,
      isOwn,
      async [Symbol.asyncDispose]() {
        copies[Symbol.dispose]();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function keepFiles(paths: Iterable<string>, copies: Copies, signal: AbortSignal): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>();
  const look = createLook();
  for (const path of paths) {
    const signature = look(path);
    const bytes = signature && versionAt(path, signature).bytes;
    kept.set(path, signature === undefined ? null : { signature, place: bytes && copies.add(bytes) });
    if (kept.size % 200 === 0) await yieldToEventLoop(signal);
  }
  return kept;
}

/** What is different now. The snapshot can be asked again. */
export async function diffSnapshot(snapshot: Snapshot, signal: AbortSignal): Promise<WorkDiff> {
  const { project, files } = snapshot;
  const notes = [...project.notes];
  if (files === undefined) {
    notes.push(`Changes are not listed: the project has more than ${mostFiles.toLocaleString("en")} files`);
    return { files: [], patch: "", notes };
  }
  const paths = new Set([...files.keys(), ...(await listFilesAgain(project, signal))]);
  const touched = await touchedPaths([...paths].sort(), snapshot, signal);

  const changes: FileChange[] = [];
  const patches: string[] = [];
  const leftOut = { patches: 0, large: 0 };
  let patchLength = 0;
  for await (const change of changesOf(touched, snapshot, signal)) {
    const { file, patch } = await describeChange(change);
    changes.push(file);
    patchLength += patch.length;
    if (patchLength <= longestPatch) patches.push(patch);
    else leftOut.patches++;
    if (isLarge(change)) leftOut.large++;
  }
  if (leftOut.large > 0) notes.push(`Lines are not compared in ${counted(leftOut.large, "changed file")} over 10 MiB`);
  if (leftOut.patches > 0)
    notes.push(`The patch is cut at 4 MiB and leaves out ${counted(leftOut.patches, "changed file")}`);
  return { files: changes, patch: patches.join(""), notes };
}

const longestPatch = 4 * 1024 * 1024;

function isLarge({ before, after }: Change): boolean {
  return [before, after].some((version) => version !== undefined && version.bytes === undefined);
}

/** A file system tells the time in steps; what happened within one cannot be told apart by it. */
const stepMs = 20;

/** The paths where something was done since, or could have been; whether anything is different is seen later. */
async function touchedPaths(paths: readonly string[], snapshot: Snapshot, signal: AbortSignal): Promise<string[]> {
  const { files, takenAtMs } = snapshot;
  const touched: string[] = [];
  const look = createLook();
  for (const [index, path] of paths.entries()) {
    const now = look(path);
    const kept = files?.get(path);
    const isSettled = now !== undefined && now.changedMs < takenAtMs - stepMs;
    // Not remembered, but older than the snapshot: only the ignore rules are new.
    const isUntouched =
      kept === undefined ? isSettled : isSettled && kept !== null && sameSignature(kept.signature, now);
    if (!isUntouched) touched.push(path);
    if (index % 1000 === 999) await yieldToEventLoop(signal);
  }
  return touched;
}

/** So many files of a repository are asked for at a time: their contents are in memory together. */
const filesAtATime = 200;

async function* changesOf(paths: readonly string[], snapshot: Snapshot, signal: AbortSignal): AsyncGenerator<Change> {
  const tracked = trackedBefore(snapshot, signal);
  for (let start = 0; start < paths.length; start += filesAtATime) {
    const some = paths.slice(start, start + filesAtATime);
    const look = createLook();
    const versions = await tracked(some.filter((path) => snapshot.files?.has(path) !== true));
    for (const path of some) {
      const kept = snapshot.files?.get(path);
      const now = look(path);
      if (now && snapshot.isOwn(path, now, kept?.signature)) continue;
      // Of a large file the signature is all there is to go by.
      if (kept && now && kept.place === undefined && sameSignature(kept.signature, now)) continue;
      const before = kept === undefined ? versions.get(path) : keptVersion(kept, snapshot);
      const after = now && versionAt(path, now);
      if (isSame(before, after)) continue;
      yield { path: relative(snapshot.project.policy.root, path), before, after };
    }
    await yieldToEventLoop(signal);
  }
}

function keptVersion(kept: Kept, { copies }: Snapshot): Version | undefined {
  if (kept === null) return undefined;
  const { signature, place } = kept;
  return place === undefined ? { mode: signature.mode } : { mode: signature.mode, bytes: copies.read(place) };
}

/** Contents that are not known are not the same: the file was touched. */
function isSame(before: Version | undefined, after: Version | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  if (before.mode !== after.mode || before.bytes === undefined || after.bytes === undefined) return false;
  return Buffer.compare(before.bytes, after.bytes) === 0;
}

type ReadVersions = (paths: readonly string[]) => Promise<ReadonlyMap<string, Version>>;

/** Files as the repositories' indexes had them. Each index is read once, and only when something of it is asked for. */
function trackedBefore({ project }: Snapshot, signal: AbortSignal): ReadVersions {
  const deepestFirst = [...project.repositories.values()].sort((a, b) => b.base.length - a.base.length);
  const readers = new Map<string, ReturnType<typeof originals>>();
  return async (paths) => {
    const versions = new Map<string, Version>();
    const byRepository = Map.groupBy(paths, (path) => deepestFirst.find(({ base }) => isBelow(path, base)));
    for (const [repository, own] of byRepository) {
      if (repository === undefined) continue;
      const { base } = repository;
      const reader = readers.get(base) ?? originals(repository, signal);
      readers.set(base, reader);
      const found = await (await reader)(own.map((path) => relative(base, path)));
      for (const [path, version] of found) versions.set(join(base, path), version);
    }
    return versions;
  };
}
