import { renameSync, rmdirSync, rmSync, type BigIntStats } from "node:fs";
import { basename, dirname } from "node:path";
import { errnoOf, messageOf, unlessRefused } from "../errors.ts";
import { HeldDirectory } from "./held.ts";
import { ancestors } from "./path.ts";
import {
  assertUnchanged,
  assertWritable,
  copyOwnerAndMode,
  putFile,
  stageFile,
  temporaryName,
  type HeldEntry,
} from "./save.ts";
import { lookUp } from "./walk.ts";

/** A change of one file, by its real path; `old` is the file that was looked at. */
export type FileChange =
  /** Makes the missing directories too; the owner and permission bits are those of `like`, if it is given. */
  | { kind: "create"; path: string; content: Uint8Array; like?: BigIntStats }
  | { kind: "replace"; path: string; content: Uint8Array; old: BigIntStats; before: Uint8Array }
  | { kind: "remove"; path: string; old: BigIntStats };

/** The change of the file at `path` failed, so none was made; `lost` are files that could not be restored. */
export class ChangeRefused extends Error {
  override readonly name = "ChangeRefused";
  readonly path: string;
  readonly lost: readonly string[];

  constructor(path: string, cause: unknown, lost: readonly string[] = []) {
    super(`cannot change "${path}": ${messageOf(cause)}`, { cause });
    this.path = path;
    this.lost = lost;
  }
}

/**
 * Makes all changes or none. Every new content is on disk, under a temporary name, before the first file changes: a
 * disk that is too full leaves everything as it was, and undoing needs no more room than there was.
 */
export function changeFiles(changes: readonly FileChange[]): void {
  using held = new DisposableStack();
  const undo: Undo[] = [];
  try {
    const work: Work = { held, undo, directories: new Map() };
    const steps = changes.map((change) => ({ change, step: attempt(change, () => prepare(change, work)) }));
    const leftovers = steps.flatMap(({ change, step }) => attempt(change, step) ?? []);
    // The names are free already.
    for (const { directory, name } of leftovers) unlessRefused(() => rmSync(directory.at(name)));
  } catch (error) {
    throw undone(undo, error);
  }
}

function attempt<T>({ path }: FileChange, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw errnoOf(error) === undefined ? error : new ChangeRefused(path, error);
  }
}

type Undo = { path: string; run: () => void };
type Work = { held: DisposableStack; undo: Undo[]; directories: Map<string, HeldDirectory> };

/** A prepared change; it returns a file that is left to remove when all others have been made. */
type Step = () => HeldEntry | undefined;

function prepare(change: FileChange, work: Work): Step {
  const { path } = change;
  const target = { directory: directoryOf(change, work), name: basename(path) };
  switch (change.kind) {
    case "create":
      return prepareCreation(change, target, work);
    case "replace":
      return prepareReplacement(change, target, work);
    case "remove":
      return () => setAside(change, target, work);
    default:
      return change satisfies never;
  }
}

function directoryOf({ kind, path }: FileChange, { held, undo, directories }: Work): HeldDirectory {
  const parent = dirname(path);
  const known = directories.get(parent);
  if (known !== undefined) return known;
  const missing = kind === "create" ? ancestors(parent).filter(isMissing).toReversed() : [];
  for (const made of missing) undo.push({ path: made, run: () => removeDirectory(made) });
  const directory = held.use(HeldDirectory.open(parent, { create: kind === "create" }));
  directories.set(parent, directory);
  return directory;
}

function isMissing(path: string): boolean {
  const found = lookUp(path);
  return "kind" in found && found.kind === "missing";
}

/** It stays when it was not made after all, or when another process has put something into it. */
function removeDirectory(path: string): void {
  unlessRefused(() => {
    using parent = HeldDirectory.open(dirname(path));
    rmdirSync(parent.at(basename(path)));
  });
}

type Change<Kind> = Extract<FileChange, { kind: Kind }>;

function prepareCreation({ path, content, like }: Change<"create">, target: HeldEntry, { held, undo }: Work): Step {
  const staged = stageFile(target, content);
  held.use(staged);
  undo.push({ path, run: () => staged[Symbol.dispose]() });
  return () => {
    staged.create(like);
    undo.push({ path, run: () => rmSync(target.directory.at(target.name)) });
    return undefined;
  };
}

function prepareReplacement(change: Change<"replace">, target: HeldEntry, { held, undo }: Work): Step {
  const { path, content, old, before } = change;
  assertWritable(target);
  const staged = held.use(stageFile(target, content));
  return () => {
    staged.replace(old);
    const finish = (descriptor: number) => copyOwnerAndMode(descriptor, old);
    undo.push({ path, run: () => putFile(target, before, { finish }) });
    return undefined;
  };
}

/** By a rename: what is removed may be of any size, and can come back. */
function setAside({ path, old }: Change<"remove">, { directory, name }: HeldEntry, { undo }: Work): HeldEntry {
  assertUnchanged({ directory, name }, old);
  const aside = temporaryName();
  renameSync(directory.at(name), directory.at(aside));
  undo.push({ path, run: () => renameSync(directory.at(aside), directory.at(name)) });
  return { directory, name: aside };
}

/** Undoes the latest first, and returns the error with the files that this failed for. */
function undone(undo: readonly Undo[], error: unknown): unknown {
  const lost = undo.toReversed().flatMap(({ path, run }) => {
    try {
      run();
      return [];
    } catch (refusal) {
      if (errnoOf(refusal) === undefined) throw refusal;
      return [path];
    }
  });
  return error instanceof ChangeRefused ? new ChangeRefused(error.path, error.cause, lost) : error;
}
