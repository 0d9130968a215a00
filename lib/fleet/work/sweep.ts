import { existsSync } from "node:fs";
import { join } from "node:path";
import { batchDirectoriesIn, treesIn, ownDirectory, stateDirectory, statesIn } from "./batchdirectory.ts";
import { removeWorkTree } from "./worktree.ts";
import { isTreeTaken } from "./treerecord.ts";
import { tryRemove } from "./remove.ts";

/**
 * Removes what killed workers of this machine have left, of batches in which nothing is left to do. A work tree of
 * the others may be what the next attempt goes on with. Returns why something could not be removed.
 */
export async function sweepWorkTrees(
  directory: string,
  isOpen: (batch: string) => Promise<boolean>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const { batchDirectory, batch } of batchDirectoriesIn(directory)) {
    // Work trees alone are those that the user has kept.
    if (!existsSync(ownDirectory(batchDirectory)) && treesIn(batchDirectory).length > 0) continue;
    if (!(await isOpen(batch))) problems.push(...(await sweepBatch(batchDirectory)));
  }
  return problems;
}

async function sweepBatch(batchDirectory: string): Promise<string[]> {
  const problems: (string | undefined)[] = [];
  for (const name of statesIn(batchDirectory)) {
    const state = stateDirectory(batchDirectory, name);
    if (!isTreeTaken(state))
      problems.push(await removeWorkTree({ root: join(batchDirectory, name), isInPlace: false, state }));
  }
  if (statesIn(batchDirectory).length === 0) {
    const isKept = treesIn(batchDirectory).length > 0;
    problems.push(await tryRemove(isKept ? ownDirectory(batchDirectory) : batchDirectory));
  }
  return problems.filter((problem) => problem !== undefined);
}
