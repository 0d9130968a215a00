import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname, join, relative } from "node:path";
import { decodeUtf8, replaceInvalid, wholeCharacters } from "../config/utf8.ts";
import { unlessRefused } from "../errors.ts";
import { ancestors } from "../files/path.ts";
import { readRegularFile } from "../files/read.ts";
import type { EnvironmentFacts } from "../session/item.ts";

/** A project's instructions for the model, the most general first. */
export type Instructions = {
  readonly blocks: readonly Block[];
  /** Lines about instructions that were left out, and why. */
  readonly notices: readonly string[];
  /** The root of the git repository, where there is one. */
  readonly repository?: string;
};

/** `server`: the text of an MCP server about its own tools. */
type Block = { readonly path: string; readonly text: string; readonly server?: true };

export const noInstructions: Instructions = { blocks: [], notices: [] };

/** The part of the instructions that a session records, to find out later which of them have changed. */
export function instructionFacts({ blocks }: Instructions): NonNullable<EnvironmentFacts["instructions"]> {
  const hash = (text: string) => new Bun.CryptoHasher("sha256").update(text.trim()).digest("hex");
  return blocks.map(({ path, text }) => ({ path, hash: hash(text) }));
}

/** The user whom koda runs for; undefined on a system without user ids. */
type Owner = number | undefined;

type Request = {
  cwd: string;
  /** Is a real path hidden from the run? */
  isHidden?: (real: string) => boolean;
  user?: Owner;
  limitBytes?: number;
};

/** The instructions of each directory from the repository's root down to `cwd`, which is absolute and real. */
export function loadInstructions(request: Request): Instructions {
  const { cwd, isHidden = () => false, user = process.getuid?.(), limitBytes = 32 * 1024 } = request;
  const repository = findRepository(cwd, user);
  const root = repository?.trusted ? repository.root : undefined;
  const blocks: Block[] = [];
  const notices: string[] = [];
  if (repository?.trusted === false)
    notices.push(`The repository "${repository.root}" belongs to another user: its instructions are not read`);

  let room = limitBytes;
  for (const directory of directoriesBetween(root ?? cwd, cwd)) {
    const path = firstOf(directory);
    if (path === undefined) continue;
    const { text, cut, problem, isRepaired } = readInstructions(path, { root: root ?? cwd, isHidden }, room);
    if (problem !== undefined) notices.push(`The instructions "${path}" are not read: ${problem}`);
    if (isRepaired)
      notices.push(`The instructions "${path}" are not UTF-8: the model sees "\uFFFD" for each byte that is not`);
    if (cut) notices.push(`The instructions "${path}" are cut: all together may have ${limitBytes / 1024} KiB`);
    if (text.trim() !== "") blocks.push({ path, text });
    room = cut ? 0 : room - Buffer.byteLength(text);
  }
  return { blocks, notices, ...(root !== undefined && { repository: root }) };
}

/** The instructions of a repository that is not trusted are ignored, as git ignores its configuration. */
type EnclosingRepository = { root: string; trusted: boolean };

/**
 * The nearest directory, from `cwd` upwards, that has a `.git`. Another user could put one above ours, in /tmp for
 * example, to instruct the model: the `.git` has to belong to this user, to root, or to the owner of `cwd`.
 */
function findRepository(cwd: string, user: Owner): EnclosingRepository | undefined {
  const trusted = new Set([user, 0, statOf(cwd)?.uid]);
  for (const root of ancestors(cwd)) {
    const git = statOf(join(root, ".git"));
    if (git !== undefined) return { root, trusted: trusted.has(git.uid) };
  }
  return undefined;
}

/** A path that may not be looked at counts as missing. */
function statOf(path: string): Stats | undefined {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
}

function directoriesBetween(root: string, cwd: string): string[] {
  const directories = [cwd];
  for (let directory = cwd; directory !== root;) {
    directory = dirname(directory);
    directories.unshift(directory);
  }
  return directories;
}

export const instructionNames = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"] as const;

/** The first that exists, usable or not: another file must not take the place of one that was meant to count. */
function firstOf(directory: string): string | undefined {
  return instructionNames.map((name) => join(directory, name)).find((path) => statOf(path) !== undefined);
}

type Rules = { root: string; isHidden: (real: string) => boolean };
type Read = { text: string; cut: boolean; problem?: string; isRepaired?: boolean };

const nothing = { text: "", cut: false };

/** At most `room` bytes of a file. A link out of the repository may lead to a private file. */
function readInstructions(path: string, { root, isHidden }: Rules, room: number): Read {
  // If it leads nowhere, opening it fails with the reason.
  const real = unlessRefused(() => realpathSync(path));
  if (real !== undefined && isOutside(root, real)) return { ...nothing, problem: `it is a link out of "${root}"` };
  if (real !== undefined && isHidden(real)) return { ...nothing, problem: "it is hidden from the run" };
  const bytes = readRegularFile(real ?? path, room + 1, { isReal: real !== undefined });
  if (bytes === undefined) return nothing;
  if ("problem" in bytes) return { ...nothing, problem: bytes.problem };
  // No text that could be read as UTF-8 has a NUL.
  if (bytes.includes(0)) return { ...nothing, problem: "it is not text" };
  const text = textWithin(bytes, room);
  if (text !== undefined) return text;
  // The replacements are longer than what they stand for.
  return { ...(textWithin(replaceInvalid(bytes), room) ?? nothing), isRepaired: true };
}

/** Undefined when it is not UTF-8. */
function textWithin(bytes: Uint8Array, room: number): Read | undefined {
  const cut = bytes.length > room;
  const text = decodeUtf8(cut ? wholeCharacters(bytes.subarray(0, room)) : bytes);
  return text === undefined ? undefined : { text, cut };
}

function isOutside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === ".." || way.startsWith("../");
}
