import { join } from "node:path";
import { areasIn, isBare, placesIn, stateDirectory } from "./area.ts";
import { removePlace } from "./place.ts";
import { isPlaceTaken } from "./placerecord.ts";
import { tryRemove } from "./remove.ts";

/**
 * Removes what killed workers of this machine have left, of batches in which nothing is to be done any more. A place of
 * the others may be what the next attempt goes on with. Returns why something could not be removed.
 */
export async function sweepPlaces(directory: string, isOpen: (batch: string) => Promise<boolean>): Promise<string[]> {
  const problems: string[] = [];
  for (const { area, batch } of areasIn(directory)) {
    // Work trees alone are those that the user has kept.
    if (placesIn(area).length === 0 && !isBare(area)) continue;
    if (!(await isOpen(batch))) problems.push(...(await sweepArea(area)));
  }
  return problems;
}

async function sweepArea(area: string): Promise<string[]> {
  const problems: (string | undefined)[] = [];
  for (const name of placesIn(area)) {
    const state = stateDirectory(area, name);
    if (!isPlaceTaken(state)) problems.push(await removePlace({ root: join(area, name), isOwn: false, state }));
  }
  if (placesIn(area).length === 0 && isBare(area)) problems.push(await tryRemove(area));
  return problems.filter((problem) => problem !== undefined);
}
