import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "../../errors.ts";
import { identityOf } from "./listing.ts";

export function identityAt(path: string): string | undefined {
  const stats = unlessRefused(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
  return stats && identityOf(stats);
}

/**
 * Where a thing is that was renamed, below some directories: everything there is looked at, in git directories too. Only
 * for when something that should not be is gone.
 */
export async function findAgain(identity: string, roots: readonly string[]): Promise<string | undefined> {
  const pending = [...roots];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    await new Promise((resolve) => setImmediate(resolve));
    const directory = path;
    for (const entry of unlessRefused(() => readdirSync(directory, { withFileTypes: true })) ?? []) {
      const inner = join(path, entry.name);
      if (identityAt(inner) === identity) return inner;
      if (entry.isDirectory()) pending.push(inner);
    }
  }
  return undefined;
}
