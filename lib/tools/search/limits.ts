import { counted } from "../../counted.ts";

/** The window from which a model gets full listings. */
const fullWindow = 128_000;
const leastEntries = 20;

/** How much of a listing a model is shown: less in proportion when its window is small, but never next to nothing. */
export function scaled(entries: number, contextWindow: number): number {
  return Math.max(leastEntries, Math.min(entries, Math.round((entries * contextWindow) / fullWindow)));
}

const searchTimeMs = 30_000;

/** Runs a search for a limited time; undefined when that was not enough. An abort of the call itself is thrown. */
export async function withinTime<T>(
  search: (signal: AbortSignal) => Promise<T>,
  { signal, ms = searchTimeMs }: { signal: AbortSignal; ms?: number },
): Promise<T | undefined> {
  const limit = AbortSignal.timeout(ms);
  try {
    const found = await search(AbortSignal.any([signal, limit]));
    signal.throwIfAborted();
    return found;
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return undefined;
    throw error;
  }
}

export const outOfTime = `The search took longer than ${searchTimeMs / 1000} s and was stopped. Search a smaller directory.`;

export function unreadableNote(unreadable: number): string[] {
  return unreadable === 0 ? [] : [`[${counted(unreadable, "path")} could not be read.]`];
}
