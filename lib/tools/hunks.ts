import type { Hunk } from "./patch.ts";
import { mostCounted, replaceFound, type Match, type Mistake, type View } from "./replace.ts";

/**
 * Applies the hunks of a patch to a text, all or none. A hunk must have exactly one place, and nothing is guessed:
 * only blanks at the end of its lines may differ from the file's, whose own lines stay as they are.
 */
export function applyHunks(original: string, hunks: readonly Hunk[]): ReturnType<typeof replaceFound> {
  return replaceFound(original, (view) => {
    const lines = linesOf(view);
    return hunks.map((hunk, edit) => {
      const place = placeOf(lines, hunk, edit);
      return typeof place === "number" ? matchesOf(lines, { hunk, edit, place }) : place;
    });
  });
}

/** The lines that a hunk has to find, for looking and for messages. */
export function oldLines({ lines }: Hunk): string[] {
  return lines.filter(({ mark }) => mark !== "+").map(({ text }) => text);
}

type Lines = {
  text: string;
  lines: readonly string[];
  /** The place of each line in the text, and of its end. */
  starts: readonly number[];
  /** A line of a patch as this text would have it. */
  asHere(line: string): string;
  exact: Index;
  loose: Index;
  /** The line after the last one that is not blank. */
  contentEnd: number;
  /** The blocks below headers that were asked for before. */
  blocks: Map<string, Blocks>;
};

function linesOf({ text, toLf }: View): Lines {
  const first = text.startsWith(bom) ? bom.length : 0;
  const lines = text.slice(first).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const starts = [first];
  for (const line of lines) starts.push(Math.min((starts.at(-1) ?? 0) + line.length + 1, text.length));
  const asHere = (line: string) => toLf(`${line}\n`).slice(0, -1);
  const [exact, loose] = [indexOf(lines, (line) => line), indexOf(lines, withoutEnd)];
  const contentEnd = lines.findLastIndex((line) => line.trim() !== "") + 1;
  return { text, lines, starts, asHere, exact, loose, contentEnd, blocks: new Map() };
}

/** U+FEFF in UTF-8, one character for each byte. */
const bom = "\u00ef\u00bb\u00bf";

function withoutEnd(line: string): string {
  return line.replace(/[ \t]+$/, "");
}

/** Finds the places of consecutive lines, of which only some may fit. */
type Index = (wanted: readonly string[], fits?: (place: number) => boolean) => number[];

/** Lines with the same key are the same. */
function indexOf(lines: readonly string[], keyOf: (line: string) => string): Index {
  let known: { keys: string[]; places: Map<string | undefined, number[]> } | undefined;
  return (wanted, fits = () => true) => {
    // Made when it is first needed.
    if (known === undefined) {
      const keys = lines.map(keyOf);
      known = { keys, places: Map.groupBy(keys.keys(), (at) => keys[at]) };
    }
    const { keys, places } = known;
    const pieces = wanted.map(keyOf);
    const found = pieces.map((piece) => places.get(piece) ?? []);
    // By the line that is rarest.
    const rarest = found.reduce((best, places, at) => (places.length < (found[best]?.length ?? 0) ? at : best), 0);
    const starts: number[] = [];
    for (const line of found[rarest] ?? []) {
      const start = line - rarest;
      if (fits(start) && pieces.every((piece, offset) => keys[start + offset] === piece)) starts.push(start);
      if (starts.length === mostCounted) break;
    }
    return starts;
  };
}

/** The line at which a hunk begins. */
function placeOf(lines: Lines, hunk: Hunk, edit: number): number | Mistake {
  if (!hunk.lines.some(({ mark }) => mark !== " ")) return { kind: "same", edit };
  const wanted = oldLines(hunk).map(lines.asHere);
  const end = lines.lines.length;
  if (wanted.length === 0) return hunk.isEnd || end === 0 ? end : { kind: "unplaced", edit };

  const find = lines.exact(wanted).length > 0 ? lines.exact : lines.loose;
  const all = find(wanted);
  if (all.length === 0) return { kind: "absent", edit };
  const shown = (places: readonly number[]) => places.slice(0, 5).map((at) => at + 1);
  const isAllowed = (at: number) => !hunk.isEnd || at + wanted.length >= lines.contentEnd;
  const places = hunk.isEnd ? find(wanted, isAllowed) : all;
  if (places.length === 0) return { kind: "not at the end", edit, lines: shown(all) };

  const blocks = blocksBelow(lines, hunk.headers);
  if ("missing" in blocks) return { kind: "header", edit, header: blocks.missing };
  const isInside = (at: number) => isAllowed(at) && doMeet(blocks, at, at + wanted.length);
  const inside = hunk.headers.length === 0 ? places : find(wanted, isInside);
  const [place, ...others] = inside.length > 0 ? inside : placesOutside(blocks, places, wanted.length);
  if (place === undefined) return { kind: "header", edit, header: hunk.headers.at(-1) ?? "" };
  return others.length === 0
    ? place
    : { kind: "ambiguous", edit, count: others.length + 1, lines: shown([place, ...others]) };
}

/** Lines from a header to the end of what it heads. */
type Block = { start: number; end: number };

/** In order, and apart from each other. */
type Blocks = readonly Block[] | { missing: string };

function blocksBelow({ lines, blocks: known }: Lines, headers: readonly string[]): Blocks {
  const key = headers.join("\n");
  const blocks = known.get(key) ?? innermost(lines, headers);
  known.set(key, blocks);
  return blocks;
}

/** A text without headers is one block. Several headers lead from the outer block to the inner one. */
function innermost(lines: readonly string[], headers: readonly string[]): Blocks {
  let blocks: readonly Block[] = [{ start: 0, end: lines.length }];
  for (const header of headers) {
    const inner = blocks.flatMap((outer) => blocksOf(lines, header, outer));
    if (inner.length === 0) return { missing: header };
    blocks = joined(inner);
  }
  return blocks;
}

/** Blocks that touch or overlap become one, which has the same lines. */
function joined(blocks: readonly Block[]): Block[] {
  const result: Block[] = [];
  for (const { start, end } of blocks.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** True when one of the blocks has one of these lines. */
function doMeet(blocks: readonly Block[], start: number, end: number): boolean {
  let [low, high] = [0, blocks.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((blocks[middle]?.end ?? Infinity) <= start) low = middle + 1;
    else high = middle;
  }
  return (blocks[low]?.start ?? Infinity) < end;
}

function blocksOf(lines: readonly string[], header: string, { start, end }: Block): Block[] {
  const heads: number[] = [];
  for (let at = start; at < end; at++) if (isHeader(lines[at] ?? "", header)) heads.push(at);
  return heads.map((head) => ({ start: head, end: endOfBlock(lines, head, end) }));
}

/** Models shorten headers: `class Parser` stands for `class Parser(Base):`. */
function isHeader(line: string, header: string): boolean {
  const text = line.trim();
  return text.startsWith(header) && !/^\w/.test(text.slice(header.length));
}

/** The next line that is indented no deeper, unless it closes a bracket. */
function endOfBlock(lines: readonly string[], head: number, end: number): number {
  const depth = indentOf(lines[head] ?? "");
  for (let at = head + 1; at < end; at++) {
    const line = lines[at] ?? "";
    if (line.trim() !== "" && indentOf(line) <= depth && !/^\s*[)\]}{]/.test(line)) return at;
  }
  return end;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The only place of all may stand below the block's end, which indentation only suggests. */
function placesOutside([first]: readonly Block[], places: readonly number[], length: number): readonly number[] {
  if (places.length > 1) return places;
  return places.filter((at) => at + length > (first?.start ?? 0));
}

type Placed = { hunk: Hunk; edit: number; place: number };

/** A match for each run of lines that goes or comes; the lines between them are not touched. */
function matchesOf(lines: Lines, { hunk, edit, place }: Placed): Match[] {
  const matches: Match[] = [];
  let at = place;
  let run: { first: number; added: string[] } | undefined;
  const close = () => {
    if (run !== undefined) matches.push({ edit, ...replacementOf(lines, { ...run, end: at }) });
    run = undefined;
  };
  for (const { mark, text } of hunk.lines) {
    if (mark === " ") close();
    else run ??= { first: at, added: [] };
    if (mark === "+") run?.added.push(lines.asHere(text));
    else at++;
  }
  close();
  return matches;
}

type Run = { first: number; end: number; added: readonly string[] };

/** A text that does not end in a line end still does not. */
function replacementOf({ text, lines, starts }: Lines, { first, end, added }: Run): Omit<Match, "edit"> {
  const start = starts[first] ?? text.length;
  const stop = starts[end] ?? text.length;
  const block = added.join("\n");
  const isUnended = end === lines.length && lines.length > 0 && !text.endsWith("\n");
  if (added.length === 0) return { start, end: stop, replacement: "" };
  if (!isUnended) return { start, end: stop, replacement: `${block}\n` };
  return { start, end: stop, replacement: first === end ? `\n${block}` : block };
}
