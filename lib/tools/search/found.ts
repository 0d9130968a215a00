import type { SearchScope } from "./scope.ts";

/** Grep's question. */
export type GrepQuery = {
  scope: SearchScope;
  pattern: string;
  ignoreCase: boolean;
  /** Only in files that match it, by their path from the base or from the project. */
  glob?: string;
  /** Lines shown before and after each match. */
  context: number;
  /** How many matches are wanted with their text; all are counted. */
  wanted: number;
};

/** A line with a match, or around one. Paths are relative to the base. */
export type GrepLine = {
  number: number;
  /** At most `lineLimit` characters of it. */
  text: string;
  /** The column where its first match begins, `lineLimit` when that is further on; absent in a line of context. */
  column?: number;
};

export type FileMatches = { path: string; count: number };
export type FileLines = { path: string; lines: readonly GrepLine[] };

export type GrepResult = {
  /** Every file with a match and its number of matching lines, by path. */
  files: readonly FileMatches[];
  /** The lines of the first files, until the wanted number of matches was reached. */
  shown: readonly FileLines[];
  /** How many directories and files could not be read. */
  unreadable: number;
};

/** Why there is no result, for the model; of a pattern that cannot be used also where it goes wrong, where known. */
export type GrepFault = { fault: string; pattern?: { at?: number } };

/** Of a longer line only the beginning is looked at for showing it. */
export const lineLimit = 2000;

export function byPath(a: { path: string }, b: { path: string }): number {
  return a.path < b.path ? -1 : 1;
}
