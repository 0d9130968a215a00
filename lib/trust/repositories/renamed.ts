import { readdirSync } from "node:fs";
import { join } from "node:path";
import { yieldToEventLoop } from "../../async/yieldtoeventloop.ts";
import { unlessRefused } from "../../errors.ts";
import { makeReadable, renameOdd } from "./blind.ts";
import { identityAt } from "./identity.ts";
import { oddIn } from "./listing.ts";

/**
 * Finds a renamed entry below some directories: everything there is looked at, in git directories too. Only for when an
 * entry that has to be there is gone.
 */
export async function findByIdentity(identity: string, roots: readonly string[]): Promise<string | undefined> {
  const pending = [...roots];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    await yieldToEventLoop();
    const directory = path;
    const list = () => unlessRefused(() => readdirSync(directory, { withFileTypes: true }));
    // A command may have closed the directory to hide the entry.
    const entries = list() ?? (makeReadable(directory) ? list() : undefined) ?? [];
    // Entries by such a name can be reached by another one only.
    const odd = entries.some(({ name }) => name.includes("\ufffd")) ? oddIn(directory) : [];
    for (const renamed of odd.map(renameOdd)) if (renamed?.kind === "quarantined") pending.push(renamed.movedTo);
    for (const entry of entries) {
      const inner = join(path, entry.name);
      if (identityAt(inner) === identity) return inner;
      if (entry.isDirectory()) pending.push(inner);
    }
  }
  return undefined;
}
