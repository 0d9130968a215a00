import type { BadPattern } from "./dialect.ts";
import type { GrepResult, GrepQuery } from "./found.ts";
import { askWorker } from "./own.ts";
import { searchWithRipgrep } from "./ripgrep.ts";

/** Searches for a pattern with ripgrep where that can, else with our own engine, with the same result. */
export async function findLines(query: GrepQuery, signal: AbortSignal): Promise<GrepResult | BadPattern> {
  return (await searchWithRipgrep(query, signal)) ?? (await askWorker({ kind: "grep", query }, signal));
}
