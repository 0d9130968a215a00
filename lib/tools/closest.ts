type SimilarLine = { start: number; lines: readonly string[]; differsInBlanksOnly: boolean };

const mostShownLines = 12;
const mostComparedCharacters = 400;
const leastSimilarity = 0.5;
/** A shorter line, such as a bracket, is in every file. */
const leastCommon = 4;

/** About a tenth of a second. A limit in time would tell the model something else on a busy machine. */
const mostLookedAt = 4_000_000;

/**
 * The lines of a text that look most like a wanted piece which is not in it. It looks for the longest line of the
 * piece, or else for the longest that the text has, and what stands around the best find is shown. A large text is
 * looked at as far as `most` characters reach.
 */
export function closest(text: string, wanted: string, most = mostLookedAt): SimilarLine | undefined {
  const lines = text.split("\n");
  const piece = wanted.replace(/^(\s*\n)+|\s+$/g, "").split("\n");
  const compared = within(lines, most);
  const top =
    topBy(longest(piece), { lines, compared, piece }) ?? topBy(common(piece, compared), { lines, compared, piece });
  if (top === undefined) return undefined;
  const start = Math.max(0, top);
  const window = lines.slice(start, top + piece.length);
  return {
    start: start + 1,
    lines: window.slice(0, mostShownLines),
    differsInBlanksOnly: collapsed(window.join("\n")) === collapsed(wanted),
  };
}

type Search = Record<"lines" | "compared" | "piece", readonly string[]>;

/** The line at which the piece would begin, going by the one of its lines that is looked for. */
function topBy(anchor: string, { lines, compared, piece }: Search): number | undefined {
  if (anchor.trim() === "") return undefined;
  const offset = piece.indexOf(anchor);
  const best = mostSimilarLine(compared, anchor, (line) => alike(lines, piece, line - offset));
  return best === undefined ? undefined : best - offset;
}

function longest(lines: readonly string[]): string {
  return lines.reduce((longest, line) => (line.trim().length > longest.trim().length ? line : longest), "");
}

/** The longest line that both have; models put what they think or see between the lines of a file. */
function common(piece: readonly string[], lines: readonly string[]): string {
  const known = new Set(lines.map((line) => line.trim()));
  return longest(piece.filter((line) => line.trim().length >= leastCommon && known.has(line.trim())));
}

function within(lines: readonly string[], characters: number): readonly string[] {
  let left = characters;
  const end = lines.findIndex((line) => (left -= Math.min(line.length, mostComparedCharacters) + 1) < 0);
  return end === -1 ? lines : lines.slice(0, end);
}

/** The surroundings decide between lines that are equally similar. */
function mostSimilarLine(
  lines: readonly string[],
  wanted: string,
  surroundings: (line: number) => number,
): number | undefined {
  const similarity = similarityTo(wanted.trim());
  let best: number | undefined;
  let most = leastSimilarity;
  for (const [index, line] of lines.entries()) {
    const similar = similarity(line.trim());
    // A quick look first: what surrounds a line adds less than 1.
    if (similar < leastSimilarity || similar + 1 <= most) continue;
    const score = similar + surroundings(index);
    if (score <= most) continue;
    best = index;
    most = score;
  }
  return best;
}

/** The share of the piece's lines that stand, blanks aside, where they should; below 1. */
function alike(lines: readonly string[], piece: readonly string[], start: number): number {
  const compared = piece.slice(0, 50);
  const same = compared.filter((line, index) => line.trim() === lines[start + index]?.trim()).length;
  return same / (compared.length + 1);
}

/** The share of neighbouring character pairs that two lines have in common, from 0 to 1. */
function similarityTo(wanted: string): (line: string) => number {
  const target = wanted.slice(0, mostComparedCharacters);
  const pairs = new Set<number>();
  for (let at = 1; at < target.length; at++) pairs.add(pairAt(target, at));
  return (line) => {
    if (line === wanted) return 1;
    const length = Math.min(line.length, mostComparedCharacters);
    const longer = Math.max(length, target.length);
    if (Math.min(length, target.length) * 2 < longer || longer < 2) return 0;
    let shared = 0;
    for (let at = 1; at < length; at++) if (pairs.has(pairAt(line, at))) shared++;
    return Math.min(1, shared / (longer - 1));
  };
}

function pairAt(text: string, index: number): number {
  return text.charCodeAt(index - 1) * 65_536 + text.charCodeAt(index);
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
