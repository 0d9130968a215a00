import { realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import { withCommas } from "../counted.ts";
import { unlessRefused } from "../errors.ts";
import { largestCopy, type Copies } from "../files/copies.ts";
import { bytesAt, entryAt, isSameEntry, type Entry, type PresentEntry, type Signature } from "../files/entry.ts";
import { isBelow } from "../files/path.ts";
import type { Policy } from "../sandbox/policy/policy.ts";
import { listFiles, listFilesAgain, mostFiles, type Project } from "./listing.ts";
import { directoriesSince, isDirectory } from "./directories.ts";
import { ignoredBefore, isRules } from "./ignored.ts";
import type { Change } from "./patch.ts";
import { executable, indexedFiles } from "./gitindex.ts";

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
  /** Absent when the project is not watched. */
  project?: Project;
  /** Limits that the user should know about. */
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
  if (paths.size <= mostFiles) {
    const files = await keepFiles(paths, copies, signal);
    for (const directory of emptied(files, policy.root)) project.directories.add(directory);
    return { ...past, project, files };
  }
  notes.push(`Changes are not listed: the project has more than ${withCommas(mostFiles)} files`);
  return { ...past, files: new Map() };
}

/** Directories in which files of the index are missing; git does not say if it is with their directory. */
function emptied(files: ReadonlyMap<string, Entry>, root: string): Set<string> {
  const directories = new Set<string>();
  for (const [path, { kind }] of files) {
    if (kind !== "missing") continue;
    let above = dirname(path);
    while (above !== root && !directories.has(above) && !isDirectory(above)) above = dirname(above);
    directories.add(above);
  }
  return directories;
}

/** A file system tells the time in steps; what happened within one cannot be told apart by it. */
const stepMs = 20;

async function keepFiles(paths: Iterable<string>, copies: Copies, signal: AbortSignal): Promise<Map<string, Entry>> {
  const kept = new Map<string, Entry>();
  const look = createLook();
  const settledMs = Date.now() - stepMs;
  for (const path of paths) {
    const entry = look(path);
    const isSmall = entry.kind !== "missing" && (entry.signature?.size ?? 0) <= largestCopy;
    const bytes = isSmall ? unlessRefused(() => bytesAt(path, entry, { isReal: true })) : undefined;
    const content = bytes && copies.add(bytes);
    kept.set(path, entry.kind === "missing" ? entry : { ...entry, content, isSettled: isOlder(entry, settledMs) });
    if (kept.size % 200 === 0) await yieldToEventLoop(signal);
  }
  return kept;
}

function isOlder(entry: Entry, ms: number): boolean {
  return entry.kind !== "missing" && entry.signature !== undefined && entry.signature.changedMs < ms;
}

export async function* changesSince(past: Past, signal: AbortSignal): AsyncGenerator<Change> {
  const { policy, files, project, takenAtMs, isOwn } = past;
  const look = createLook();
  const listed = project === undefined ? [] : [...(await listFilesAgain(project, signal))];
  const unknown = Map.groupBy(
    listed.filter((path) => !files.has(path)),
    (path) => (isOlder(look(path), takenAtMs - stepMs) ? "old" : "young"),
  );
  const { young = [], old = [] } = Object.fromEntries(unknown);
  const indexed = project && (await originals(project, young, signal));
  // A file that was not remembered and is older than the snapshot is not new, only the ignore rules are; unless it
  // came there with its directory.
  const others = [...young, ...(old.length === 0 ? [] : await movedFiles(past, old, signal))];
  const wasIgnored = ignoredIn(past, { listed, indexed });
  for (const [index, path] of [...files.keys(), ...others].sort().entries()) {
    if (index % 200 === 199) await yieldToEventLoop(signal);
    const now = look(path);
    const known = files.get(path) ?? withModeOf(now, indexed?.get(path));
    if (known === undefined && wasIgnored(path)) continue;
    const before = known ?? missing;
    const signature = signatureOf(now);
    if (signature !== undefined && isOwn(path, signature, signatureOf(before))) continue;
    // An entry that cannot be read may be different.
    if (unlessRefused(() => isSameEntry(before, now, path)) === true) continue;
    yield { path: relative(policy.root, path), before, after: readable(now, path) };
  }
}

const missing: Entry = { kind: "missing" };

type Listed = { listed: readonly string[]; indexed: ReadonlyMap<string, Entry> | undefined };

/** Files that were ignored, and no longer are since the rules changed. */
function ignoredIn({ policy, project, files }: Past, { listed, indexed }: Listed): (path: string) => boolean {
  // A file of rules that git lists, or that is no longer there, may have changed.
  if (project === undefined || ![...listed, ...files.keys()].some(isRules)) return () => false;
  const changed = new Set(listed);
  const entryBefore = (path: string) =>
    files.get(path) ?? indexed?.get(path) ?? (changed.has(path) ? missing : undefined);
  return ignoredBefore({ root: policy.root, scratch: project.scratch, entryBefore });
}

async function movedFiles(past: Past, files: readonly string[], signal: AbortSignal): Promise<string[]> {
  const since = await directoriesSince(past, signal);
  return files.filter((path) => since([path]).length > 0);
}

function signatureOf(entry: Entry): Signature | undefined {
  return entry.kind === "missing" ? undefined : entry.signature;
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
  return {
    ...entry,
    content: { length: entry.signature?.size ?? 0, read: () => bytesAt(path, entry, { isReal: true }) },
  };
}

/** Files as the repositories' indexes had them. */
async function originals({ repositories, copies }: Project, paths: readonly string[], signal: AbortSignal) {
  const entries = new Map<string, PresentEntry>();
  const deepestFirst = [...repositories.values()].sort((a, b) => b.base.length - a.base.length);
  const byRepository = Map.groupBy(paths, (path) => deepestFirst.find(({ base }) => isBelow(path, base)));
  for (const [repository, own] of byRepository) {
    if (repository === undefined) continue;
    const { base } = repository;
    const relatives = own.map((path) => relative(base, path));
    for (const [path, entry] of await indexedFiles(repository, { paths: relatives, copies }, signal))
      entries.set(join(base, path), entry);
  }
  return entries;
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
