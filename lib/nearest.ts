/**
 * The candidate that a misspelled word most likely stands for: the one with the fewest edits, if they are few for its
 * length; the first one wins a tie. Case is ignored, so `bash` finds `Bash`.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let fewest = Infinity;
  for (const candidate of candidates) {
    const found = candidate.toLowerCase();
    const limit = tolerance(Math.max(wanted.length, found.length));
    if (Math.abs(wanted.length - found.length) > limit) continue;
    const edits = distance(wanted, found);
    if (edits > limit || edits >= fewest) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

/** Short words allow no edits: `-x` is not a misspelling of `-o`. */
function tolerance(length: number): number {
  if (length <= 2) return 0;
  return Math.min(4, Math.max(1, Math.floor(length / 3)));
}

/** The number of edits between two words: insert, delete, replace, or swap two neighbours (Damerau-Levenshtein). */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const edits = [at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1)];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) edits.push(at(beforeLast, column - 2) + 1);
      current.push(Math.min(...edits));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
