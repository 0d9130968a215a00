import { realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { unlessRefused } from "../errors.ts";
import { largestCopy, type Copies } from "../files/copies.ts";
import {
  bytesAt,
  entryAt,
  isSameEntry,
  sameSignature,
  type Entry,
  type PresentEntry,
  type Signature,
} from "../files/entry.ts";
import { isBelow } from "../files/path.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { listFiles, listFilesAgain, mostFiles, type Project } from "./listing.ts";
import type { Change } from "./patch.ts";
import { executable, originals } from "./repository.ts";

/**
 * A project as it was. Of each file there is a copy, but for those in a git repository that are as its index has them:
 * git can hand out their contents when it is known which of them were changed. Nothing of the user's is touched for it:
 * not the index, not the objects, no configuration is obeyed and no hook, filter or monitor is run.
 */
export type Past = {
  policy: Policy;
  takenAtMs: number;
  /** By absolute path. */
  files: ReadonlyMap<string, Entry>;
  /** Absent for what was stored: that is all in `files`. */
  project?: Project;
  /** What could not be looked at in the best way, for the user. */
  notes: readonly string[];
  isOwn: IsOwn;
};

/** Tells the files that koda itself writes, by what was at the path before: their changes are not the turn's. */
export type IsOwn = (path: string, now: Signature, before: Signature | undefined) => boolean;

export async function rememberProject(project: Project, signal: AbortSignal): Promise<Omit<Past, "isOwn">> {
  const takenAtMs = Date.now();
  const { policy, notes, copies } = project;
  const past = { policy, takenAtMs, notes };
  const paths = await listFiles(project, signal);
  if (paths.size <= mostFiles) return { ...past, project, files: await keepFiles(paths, copies, signal) };
  notes.push(`Changes are not listed: the project has more than ${mostFiles.toLocaleString("en")} files`);
  return { ...past, files: new Map() };
}

async function keepFiles(paths: Iterable<string>, copies: Copies, signal: AbortSignal): Promise<Map<string, Entry>> {
  const kept = new Map<string, Entry>();
  const look = createLook();
  for (const path of paths) {
    const entry = look(path);
    const isSmall = (signatureOf(entry)?.size ?? Infinity) <= largestCopy;
    const bytes = entry.kind !== "missing" && isSmall ? unlessRefused(() => bytesAt(path, entry)) : undefined;
    kept.set(path, entry.kind === "missing" ? entry : { ...entry, content: bytes && copies.add(bytes) });
    if (kept.size % 200 === 0) await yieldToEventLoop(signal);
  }
  return kept;
}

function signatureOf(entry: Entry): Signature | undefined {
  return entry.kind === "missing" ? undefined : entry.signature;
}

/** So many files of a repository are asked for at a time. */
const filesAtATime = 200;

export async function* changesSince(past: Past, signal: AbortSignal): AsyncGenerator<Change> {
  const { policy, files, project, isOwn } = past;
  const paths = await touchedPaths(past, signal);
  const inIndexes = project && readIndexes(project);
  for (let start = 0; start < paths.length; start += filesAtATime) {
    const some = paths.slice(start, start + filesAtATime);
    const indexed = await inIndexes?.(
      some.filter((path) => !files.has(path)),
      signal,
    );
    const look = createLook();
    for (const path of some) {
      const now = look(path);
      const before = files.get(path) ?? withModeOf(now, indexed?.get(path)) ?? { kind: "missing" };
      const signature = signatureOf(now);
      if (signature !== undefined && isOwn(path, signature, signatureOf(before))) continue;
      // An entry that cannot be read may be different.
      if (unlessRefused(() => isSameEntry(before, now, path)) === true) continue;
      yield { path: relative(policy.root, path), before, after: readable(now, path) };
    }
    await yieldToEventLoop(signal);
  }
}

/** A file system tells the time in steps; what happened within one cannot be told apart by it. */
const stepMs = 20;

/** The paths where something was done since, or could have been; whether anything is different is seen later. */
async function touchedPaths({ files, project, takenAtMs }: Past, signal: AbortSignal): Promise<readonly string[]> {
  if (project === undefined) return [...files.keys()];
  const touched: string[] = [];
  const look = createLook();
  const paths = new Set([...files.keys(), ...(await listFilesAgain(project, signal))]);
  for (const [index, path] of [...paths].sort().entries()) {
    const kept = files.get(path);
    const now = signatureOf(look(path));
    const isSettled = now !== undefined && now.changedMs < takenAtMs - stepMs;
    // Not remembered, but older than the snapshot: only the ignore rules are new.
    const isUntouched = isSettled && (kept === undefined || sameSignature(signatureOf(kept), now));
    if (!isUntouched) touched.push(path);
    if (index % 1000 === 999) await yieldToEventLoop(signal);
  }
  return touched;
}

/** git's index knows of a file only whether it can be executed. */
function withModeOf(now: Entry, indexed: PresentEntry | undefined): PresentEntry | undefined {
  if (indexed?.kind !== "file" || now.kind !== "file") return indexed;
  const [was, is] = [indexed.mode & 0o100, now.mode & 0o100];
  const changed = is === 0 ? executable(now.mode) : now.mode & ~0o111;
  return { ...indexed, mode: was === is ? now.mode : changed };
}

function readable(entry: Entry, path: string): Entry {
  if (entry.kind === "missing") return entry;
  return { ...entry, content: { length: entry.signature?.size ?? 0, read: () => bytesAt(path, entry) } };
}

/** Files as the repositories' indexes had them. Each index is read once, and only when something of it is asked for. */
function readIndexes({ repositories, copies }: Project) {
  const deepestFirst = [...repositories.values()].sort((a, b) => b.base.length - a.base.length);
  const readers = new Map<string, ReturnType<typeof originals>>();
  return async (paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, PresentEntry>> => {
    const entries = new Map<string, PresentEntry>();
    const byRepository = Map.groupBy(paths, (path) => deepestFirst.find(({ base }) => isBelow(path, base)));
    for (const [repository, own] of byRepository) {
      if (repository === undefined) continue;
      const { base } = repository;
      const reader = readers.get(base) ?? originals(repository, copies, signal);
      readers.set(base, reader);
      const found = await (await reader)(own.map((path) => relative(base, path)));
      for (const [path, entry] of found) entries.set(join(base, path), entry);
    }
    return entries;
  };
}

/**
 * Looks at many files, one after the other. Missing is also what is neither a file nor a symlink, and what is only
 * reached through a symlink: that is another place's file.
 */
function createLook(): (path: string) => Entry {
  const directories = new Map<string, boolean>();
  return (path) => {
    const directory = dirname(path);
    const isReal = directories.get(directory) ?? unlessRefused(() => realpathSync(directory)) === directory;
    directories.set(directory, isReal);
    const entry = isReal ? unlessRefused(() => entryAt(path)) : undefined;
    return entry?.kind === "file" || entry?.kind === "symlink" ? entry : { kind: "missing" };
  };
}
