import { runGit, streamGit } from "../git/program.ts";
import type { Comparison } from "./comparison.ts";
import { whyLeftOut } from "./leftout.ts";

/** A file that differs, with its path in the project. */
export type ChangedFile = {
  path: string;
  /** Its path before, when it was renamed. */
  from?: string;
  /** The object with its new content; absent when it was deleted or is no file. */
  blob?: string;
  /** The length of its patch. */
  bytes: number;
  /** Why its patch is not shown to a reviewer. */
  leftOut?: string;
};

/** The largest patch of one file that is read. */
const largestPatch = 2 * 1024 * 1024;

const showing = ["-r", "-M", "--no-ext-diff", "--no-textconv", "--relative", "--ignore-submodules=dirty"] as const;

/** All files that differ, without their patches: of these only the lengths are kept, so the diff may be of any size. */
export async function listChanges(comparison: Comparison): Promise<readonly ChangedFile[]> {
  const { git, before, after, large } = comparison;
  const entries = parseRaw(await runGit(git, ["diff-tree", "-z", "--raw", "--no-abbrev", ...showing, before, after]));
  const sections = new Sections();
  for await (const piece of streamGit(git, ["diff-tree", "-p", ...showing, before, after])) sections.add(piece);
  const found = sections.end();
  let at = 0;
  const files = entries.map(({ sections: count, ...entry }): ChangedFile => {
    const own = found.slice(at, (at += count));
    const bytes = own.reduce((sum, section) => sum + section.bytes, 0);
    const isBinary = own.some((section) => section.isBinary);
    const leftOut = isBinary ? "binary" : bytes > largestPatch ? "too large" : whyLeftOut(entry.path);
    return { ...entry, bytes, ...(leftOut !== undefined && { leftOut }) };
  });
  const listed = new Set(files.map(({ path }) => path));
  const unlisted = large.filter((path) => !listed.has(path));
  return [...files, ...unlisted.map((path) => ({ path, bytes: 0, leftOut: "too large" }))];
}

/** The patches of some files, as git prints them. */
export async function patchOf({ git, before, after }: Comparison, files: readonly ChangedFile[]): Promise<string> {
  const names = files.flatMap(({ path, from }) => (from === undefined ? [path] : [from, path]));
  const only = names.map((name) => `:(literal)${name}`);
  return new TextDecoder().decode(await runGit(git, ["diff-tree", "-p", ...showing, before, after, "--", ...only]));
}

/** More of a file is not read to find the place of a finding. */
const largestContent = 8 * 1024 * 1024;

/** The content of a file. */
export async function contentOf({ git }: Comparison, blob: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of streamGit(git, ["cat-file", "blob", blob])) {
    pieces.push(piece);
    length += piece.length;
    if (length > largestContent) break;
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

type Entry = Pick<ChangedFile, "path" | "from" | "blob"> & { sections: number };

/** The entries of `--raw -z`: `:MODE MODE HASH HASH STATUS`, a path, and for a rename another. */
function parseRaw(printed: Uint8Array): Entry[] {
  const words = new TextDecoder().decode(printed).split("\0");
  const entries: Entry[] = [];
  for (let at = 0; words[at]?.startsWith(":"); at += 2) {
    const [, mode = "", , hash = "", status = ""] = words[at]?.split(" ") ?? [];
    const first = words[at + 1] ?? "";
    const isMoved = /^[RC]/.test(status);
    if (isMoved) at++;
    const path = isMoved ? (words[at + 1] ?? "") : first;
    const isFile = mode.startsWith("100") && status !== "D";
    entries.push({
      path,
      ...(isMoved && { from: first }),
      ...(isFile && { blob: hash }),
      // A file that became a link is a deletion and an addition.
      sections: status.startsWith("T") ? 2 : 1,
    });
  }
  return entries;
}

type Section = { bytes: number; isBinary: boolean };

const head = Buffer.from("diff --git ");
const binary = Buffer.from("Binary files ");
const newline = 0x0a;
/** Beginnings of lines are compared up to here. */
const longestStart = Math.max(head.length, binary.length);

/** Measures the patches of files in a stream. Every line of content has a sign before it, so none looks like a head. */
class Sections {
  readonly #found: Section[] = [];
  /** The beginning of the current line; undefined when it is known what that line is. */
  #start: Buffer | undefined = Buffer.alloc(0);

  add(piece: Uint8Array): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(newline, at);
      const next = end < 0 ? bytes.length : end + 1;
      if (this.#start !== undefined) this.#read(bytes.subarray(at, Math.min(next, at + longestStart)), end >= 0);
      const last = this.#found.at(-1);
      if (last !== undefined) last.bytes += next - at;
      if (end >= 0) this.#start = Buffer.alloc(0);
      at = next;
    }
  }

  end(): readonly Section[] {
    return this.#found;
  }

  #read(more: Buffer, isWhole: boolean): void {
    const start = this.#start?.length === 0 ? more : Buffer.concat([this.#start ?? more, more]);
    this.#start = !isWhole && start.length < longestStart ? Buffer.from(start) : undefined;
    if (this.#start !== undefined) return;
    if (start.subarray(0, head.length).equals(head)) this.#found.push({ bytes: 0, isBinary: false });
    const last = this.#found.at(-1);
    if (last !== undefined && start.subarray(0, binary.length).equals(binary)) last.isBinary = true;
  }
}
