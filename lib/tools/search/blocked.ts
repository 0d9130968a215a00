import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unlessRefused } from "../../errors.ts";
import { ancestors } from "../../files/path.ts";
import type { GrepFault } from "./found.ts";
import type { SearchScope } from "./scope.ts";
import { walkScope } from "./walk.ts";

/**
 * Runs a search, and stops it when it waits for a file of ignore rules: ripgrep opens whatever has that name, and a
 * named pipe has no end. The files are looked for only when the search takes long.
 */
export async function unlessBlocked<T>(
  scope: SearchScope,
  search: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T | GrepFault> {
  const [over, blocked] = [new AbortController(), new AbortController()];
  const searching = search(AbortSignal.any([signal, blocked.signal])).finally(() => over.abort());
  const watching = sleep(graceMs, undefined, { signal: over.signal })
    .then(async () => await blockingRules(scope, AbortSignal.any([signal, over.signal])))
    .catch((error: unknown) => {
      if (!over.signal.aborted && !signal.aborted) throw error;
      return undefined;
    });
  const file = await Promise.race([watching, searching.then(() => undefined)]);
  if (file === undefined) return await searching;
  blocked.abort();
  await searching.catch(() => undefined);
  return { fault: `"${file}" is not a regular file, so the ignore rules in it cannot be read: remove it` };
}

/** Most searches are over by then. */
const graceMs = 1_000;

/** The first file of ignore rules that is none: in the base, below, and in all directories above, which count too. */
async function blockingRules(scope: SearchScope, signal: AbortSignal): Promise<string | undefined> {
  let found = ancestors(scope.base)
    .map(blockingIn)
    .find((file) => file !== undefined);
  if (found !== undefined) return found;
  await walkScope(scope, { unreadable: () => undefined, signal }, ({ path, kind }) => {
    if (kind === "directory") found = blockingIn(join(scope.base, path));
    return found === undefined;
  });
  return found;
}

const ruleFiles = [".gitignore", ".git/info/exclude"];

function blockingIn(directory: string): string | undefined {
  return ruleFiles.map((name) => join(directory, name)).find(isBlocking);
}

/** A link counts as what it leads to. */
function isBlocking(file: string): boolean {
  const stats = unlessRefused(() => statSync(file));
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}
