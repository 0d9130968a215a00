import { chmodSync, lstatSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, reasonOf } from "../../errors.ts";

/** Removes a directory that commands have filled, if it is there. Links are removed, not followed. */
export async function removeDirectory(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (errnoOf(error) !== "EACCES") throw error;
    // Caches of some tools are read-only, and so cannot be removed.
    openUp(path);
    await rm(path, { recursive: true, force: true });
  }
}

/** The same where nothing depends on it: returns why it could not. */
export async function tryRemove(path: string): Promise<string | undefined> {
  try {
    await removeDirectory(path);
    return undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return `Cannot remove "${path}": ${reasonOf(error)}`;
  }
}

function openUp(directory: string): void {
  if (!lstatSync(directory).isDirectory()) return;
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) openUp(join(directory, entry.name));
}
