import { join } from "node:path";
import { areasIn, isBare, treesIn, stateDirectory } from "./area.ts";
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
  for (const { area, batch } of areasIn(directory)) {
    // Work trees alone are those that the user has kept.
    if (treesIn(area).length === 0 && !isBare(area)) continue;
    if (!(await isOpen(batch))) problems.push(...(await sweepArea(area)));
  }
  return problems;
}

async function sweepArea(area: string): Promise<string[]> {
  const problems: (string | undefined)[] = [];
  for (const name of treesIn(area)) {
    const state = stateDirectory(area, name);
    if (!isTreeTaken(state)) problems.push(await removeWorkTree({ root: join(area, name), isInPlace: false, state }));
  }
  if (treesIn(area).length === 0 && isBare(area)) problems.push(await tryRemove(area));
  return problems.filter((problem) => problem !== undefined);
}
