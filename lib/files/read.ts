import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { errnoOf, errnoWords, unlessRefused } from "../errors.ts";
import { describeKind, kindOf } from "./walk.ts";

/** Why a file cannot be used, to follow `Cannot read config "…": `. */
type FileProblem = { problem: string };

/**
 * The first `limit` bytes of a regular file, or undefined when there is no file. Never waits: a named pipe or a device
 * is a problem, not a hang. With `isReal` so is a file that a symlink leads to, on the way or at the end.
 */
export function readRegularFile(
  path: string,
  limit: number,
  { isReal = false } = {},
): Uint8Array | FileProblem | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (isReal ? constants.O_NOFOLLOW : 0));
  } catch (error) {
    return isAbsence(error, path) ? undefined : { problem: problemOf(error) };
  }
  try {
    const stats = fstatSync(fd);
    if (isReal && !isAt(fd, path)) return { problem: "a symbolic link leads to it" };
    return stats.isFile() ? readUpTo(fd, { limit }) : { problem: `it is ${describeKind(kindOf(stats))}, not a file` };
  } catch (error) {
    return { problem: problemOf(error) };
  } finally {
    closeSync(fd);
  }
}

/**
 * Is this open file the one at a real path? Before it was opened a command may have put a symlink in the place of a
 * directory on the way. Without /proc there is no telling.
 */
export function isAt(fd: number, path: string): boolean {
  return (unlessRefused(() => readlinkSync(`/proc/self/fd/${fd}`)) ?? path) === path;
}

/** Far more than a file written by hand has. */
const largestText = 1024 * 1024;

/** The text of a small file that a command may have written; empty when it is missing, too large or no regular file. */
export function readSmallText(path: string, options?: { isReal: boolean }): string {
  const bytes = readRegularFile(path, largestText + 1, options);
  return bytes instanceof Uint8Array && bytes.length <= largestText ? new TextDecoder().decode(bytes) : "";
}

/** Reads from the current offset. One read may give less than there is, and stat's size is wrong for files in /proc. */
export function readUpTo(fd: number, { limit, atOnce = 64 * 1024 }: { limit: number; atOnce?: number }): Uint8Array {
  const pieces: Uint8Array[] = [];
  let room = limit;
  while (room > 0) {
    const piece = new Uint8Array(Math.min(room, atOnce));
    const length = readSync(fd, piece, 0, piece.length, null);
    if (length === 0) break;
    pieces.push(piece.subarray(0, length));
    room -= length;
  }
  const [only, ...others] = pieces;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces);
}

/** A link to nothing gives ENOENT too, but it is a problem rather than a missing file. */
function isAbsence(error: unknown, path: string): boolean {
  const code = errnoOf(error);
  return code === "ENOTDIR" || (code === "ENOENT" && lstatSync(path, { throwIfNoEntry: false }) === undefined);
}

function problemOf(error: unknown): string {
  const code = errnoOf(error);
  if (code === undefined) throw error;
  if (code === "ENOENT") return "it is a broken symbolic link";
  if (code === "ENXIO") return "it is a socket or a device without a driver, not a file";
  return errnoWords(code);
}
