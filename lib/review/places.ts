import { relative, resolve } from "node:path";
import { isBelow } from "../files/path.ts";
import { readRegularFile } from "../files/read.ts";
import { type ChangedFile, contentOf } from "./changes.ts";
import type { Comparison } from "./comparison.ts";
import type { Findings, PlacedFinding, Review } from "./findings.ts";

/** Reads a file that was reviewed, line by line; undefined when no finding can be about it. */
export type ReadLines = (path: string) => Promise<readonly string[] | undefined>;

/** Drops findings on files that were not reviewed or are not there, and keeps the others within their files. */
export async function placeFindings({ findings, summary }: Findings, root: string, read: ReadLines): Promise<Review> {
  const placed: PlacedFinding[] = [];
  const known = new Map<string, ReturnType<ReadLines>>();
  const readOnce: ReadLines = (path) => known.getOrInsertComputed(path, read);
  for (const finding of findings) {
    const [path, lines] = (await firstOf(pathsMeant(finding.path, root), readOnce)) ?? [];
    if (path === undefined || lines === undefined) continue;
    const last = Math.max(lines.length, 1);
    const ends = [finding.start_line, finding.end_line].map((line) => Math.min(Math.max(line, 1), last));
    const [start = 1, end = start] = ends.sort((a, b) => a - b);
    placed.push({ ...finding, path, start_line: start, end_line: end, text: lines[start - 1] ?? "" });
  }
  return { findings: placed, summary };
}

/** Models write paths as a diff has them, or from the root. */
function pathsMeant(written: string, root: string): string[] {
  const inProject = relative(root, resolve(root, written));
  return [...new Set([written, inProject, written.replace(/^[ab]\//, "")])];
}

async function firstOf(paths: readonly string[], read: ReadLines): Promise<[string, readonly string[]] | undefined> {
  for (const path of paths) {
    const lines = await read(path);
    if (lines !== undefined) return [path, lines];
  }
  return undefined;
}

/** The changed files as they are after the change. */
export function linesOfChanges(comparison: Comparison, files: readonly ChangedFile[]): ReadLines {
  const blobs = new Map(files.map(({ path, blob }) => [path, blob]));
  return async (path) => {
    const blob = blobs.get(path);
    return blob === undefined ? undefined : splitLines(await contentOf(comparison, blob));
  };
}

const largestFile = 8 * 1024 * 1024;

/** The files of the project as they are now. */
export function linesOfProject(root: string): ReadLines {
  return async (path) => {
    const absolute = resolve(root, path);
    if (!isBelow(absolute, root)) return undefined;
    const bytes = readRegularFile(absolute, largestFile, { isReal: true });
    return bytes instanceof Uint8Array ? splitLines(new TextDecoder().decode(bytes)) : undefined;
  };
}

function splitLines(text: string): readonly string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
