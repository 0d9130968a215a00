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
  type Content,
  type Entry,
  type PresentEntry,
  type Signature,
} from "../files/entry.ts";
import { isBelow } from "../files/path.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { listFiles, listFilesAgain, mostFiles, type Project } from "./listing.ts";
import type { Change } from "./patch.ts";
import { originals } from "./repository.ts";

/*
 * What is remembered of a project: a copy of each file, but for those in a git repository that are as its index has
 * them. git can hand out their contents when it is known which of them were changed. Nothing of the user's is touched
 * for it: not the index, not the objects, no configuration is obeyed and no hook, filter or monitor is run.
 */

/** A project as it was; all paths are absolute. */
export type Past = {
  policy: Policy;
  takenAtMs: number;
  /** Undefined when there are too many to watch. */
  files: ReadonlyMap<string, Entry> | undefined;
  isOwn: IsOwn;
  /** What could not be looked at in the best way, for the user. */
  notes: readonly string[];
  /** The paths at which something may be different now. */
  touched(signal: AbortSignal): Promise<readonly string[]>;
  /** How some of them were. */
  entriesAt(paths: readonly string[], signal: AbortSignal): Promise<(path: string) => Entry | undefined>;
};

/** Tells the files that koda itself writes, by what was at the path before: their changes are not the turn's. */
export type IsOwn = (path: string, now: Signature, before: Signature | undefined) => boolean;

export async function rememberProject(project: Project, signal: AbortSignal): Promise<Omit<Past, "isOwn">> {
  const { policy, notes, copies } = project;
  const takenAtMs = Date.now();
  const paths = await listFiles(project, signal);
  const files = paths.size > mostFiles ? undefined : await keepFiles(paths, copies, signal);
  if (files === undefined)
    notes.push(`Changes are not listed: the project has more than ${mostFiles.toLocaleString("en")} files`);
  const indexed = readIndexes(project);
  return {
    policy,
    takenAtMs,
    files,
    notes,
    async touched(again) {
      if (files === undefined) return [];
      const all = new Set([...files.keys(), ...(await listFilesAgain(project, again))]);
      return touchedPaths([...all].sort(), { files, takenAtMs }, again);
    },
    async entriesAt(some, again) {
      const others = await indexed(
        some.filter((path) => files?.has(path) !== true),
        again,
      );
      return (path) => files?.get(path) ?? others.get(path);
    },
  };
}

type Files = ReadonlyMap<string, Entry>;

async function keepFiles(paths: Iterable<string>, copies: Copies, signal: AbortSignal): Promise<Files> {
  const kept = new Map<string, Entry>();
  const look = createLook();
  for (const path of paths) {
    const entry = look(path);
    kept.set(path, entry.kind === "missing" ? entry : { ...entry, content: copyOf(path, { entry, copies }) });
    if (kept.size % 200 === 0) await yieldToEventLoop(signal);
  }
  return kept;
}

function copyOf(path: string, { entry, copies }: { entry: PresentEntry; copies: Copies }): Content | undefined {
  if ((entry.signature?.size ?? 0) > largestCopy) return undefined;
  const bytes = unlessRefused(() => bytesAt(path, entry));
  return bytes && copies.add(bytes);
}

/** A file system tells the time in steps; what happened within one cannot be told apart by it. */
const stepMs = 20;

type Then = { files: Files; takenAtMs: number };

/** The paths where something was done since, or could have been; whether anything is different is seen later. */
async function touchedPaths(paths: readonly string[], { files, takenAtMs }: Then, signal: AbortSignal) {
  const touched: string[] = [];
  const look = createLook();
  for (const [index, path] of paths.entries()) {
    const now = look(path);
    const kept = files.get(path);
    const signature = signatureOf(now);
    const isSettled = signature !== undefined && signature.changedMs < takenAtMs - stepMs;
    // Not remembered, but older than the snapshot: only the ignore rules are new.
    const isUntouched = isSettled && (kept === undefined || sameSignature(signatureOf(kept), signature));
    if (!isUntouched) touched.push(path);
    if (index % 1000 === 999) await yieldToEventLoop(signal);
  }
  return touched;
}

function signatureOf(entry: Entry): Signature | undefined {
  return entry.kind === "missing" ? undefined : entry.signature;
}

/** So many files of a repository are asked for at a time. */
const filesAtATime = 200;

export async function* changesSince(past: Past, signal: AbortSignal): AsyncGenerator<Change> {
  const paths = await past.touched(signal);
  for (let start = 0; start < paths.length; start += filesAtATime) {
    const some = paths.slice(start, start + filesAtATime);
    const entryBefore = await past.entriesAt(some, signal);
    const look = createLook();
    for (const path of some) {
      const before = entryBefore(path) ?? { kind: "missing" };
      const now = look(path);
      const signature = signatureOf(now);
      if (signature !== undefined && past.isOwn(path, signature, signatureOf(before))) continue;
      // An entry that cannot be read may be different.
      if (unlessRefused(() => isSameEntry(before, now, path)) === true) continue;
      yield { path: relative(past.policy.root, path), before, after: readable(now, path) };
    }
    await yieldToEventLoop(signal);
  }
}

function readable(entry: Entry, path: string): Entry {
  if (entry.kind === "missing" || entry.signature === undefined) return entry;
  return { ...entry, content: { length: entry.signature.size, read: () => bytesAt(path, entry) } };
}

type Indexed = (paths: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, Entry>>;

/** Files as the repositories' indexes had them. Each index is read once, and only when something of it is asked for. */
function readIndexes({ repositories, copies }: Project): Indexed {
  const readers = new Map<string, ReturnType<typeof originals>>();
  return async (paths, signal) => {
    const entries = new Map<string, Entry>();
    const deepestFirst = [...repositories.values()].sort((a, b) => b.base.length - a.base.length);
    const byRepository = Map.groupBy(paths, (path) => deepestFirst.find(({ base }) => isBelow(path, base)));
    for (const [repository, own] of byRepository) {
      if (repository === undefined) continue;
      const { base } = repository;
      const reader = readers.get(base) ?? originals(repository, copies, signal);
      readers.set(base, reader);
      const found = await (
        await reader
      )(
        own.map((path) => relative(base, path)),
        signal,
      );
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
