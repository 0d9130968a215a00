import { rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../async/yieldtoeventloop.ts";
import type { HeldDirectory } from "./held.ts";

type RemoveOptions = {
  /** Says why an entry must stay, by its path. */
  keep(path: string): string | undefined;
  signal: AbortSignal;
};

/**
 * Removes a directory with everything in it and returns how many entries that were. Symlinks are removed, never
 * followed, and each step is taken inside of directories that are held open. The tree is gone through once before, so
 * that nothing of it is removed when a part of it must stay.
 */
export async function removeTree(parent: HeldDirectory, name: string, sweep: RemoveOptions): Promise<number> {
  using tree = parent.child(name);
  await forEachEntry(tree, sweep, () => {});
  const removed = await forEachEntry(tree, sweep, (directory, name, isDirectory) => {
    if (isDirectory) rmdirSync(directory.at(name));
    else unlinkSync(directory.at(name));
  });
  rmdirSync(parent.at(name));
  return removed + 1;
}

/** Thrown for an entry that must stay; its message is the reason. */
export class Unremovable extends Error {
  override readonly name = "Unremovable";
}

type Visit = (directory: HeldDirectory, name: string, isDirectory: boolean) => void;

/** Entries come before the directory that they are in. */
async function forEachEntry(directory: HeldDirectory, sweep: RemoveOptions, visit: Visit): Promise<number> {
  let visited = 0;
  await yieldToEventLoop(sweep.signal);
  for (const name of directory.names()) {
    const stats = directory.look(name);
    // Another process removed it since the directory was listed.
    if (stats === undefined) continue;
    const reason = sweep.keep(join(directory.path, name));
    if (reason !== undefined) throw new Unremovable(reason);
    if (stats.isDirectory()) {
      using child = directory.child(name);
      visited += await forEachEntry(child, sweep, visit);
    }
    visit(directory, name, stats.isDirectory());
    visited++;
  }
  return visited;
}
