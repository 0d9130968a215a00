import type { BadPattern } from "./dialect.ts";
import type { Found, Query } from "./found.ts";
import { ask } from "./own.ts";
import { searchWithRipgrep } from "./ripgrep.ts";

/** Where a pattern matches: by ripgrep where it can, else by our own engine, with the same result. */
export async function findLines(query: Query, signal: AbortSignal): Promise<Found | BadPattern> {
  return (await searchWithRipgrep(query, signal)) ?? (await ask({ kind: "grep", query }, signal));
}
