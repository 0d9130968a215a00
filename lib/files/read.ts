import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { errnoOf } from "../errors.ts";

/** A file that cannot be used, in words that follow `Cannot read config "…": `. */
export type FileProblem = { problem: string };

/** The beginning of a regular file. Never waits: a FIFO or a device in the file's place is a problem, not a hang. */
export function readRegularFile(path: string, limit: number): Uint8Array | FileProblem | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return isAbsence(error, path) ? undefined : { problem: openProblem(error) };
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() ? readUpTo(fd, limit) : { problem: `it is ${kindOf(stats)}, not a file` };
  } catch (error) {
    return { problem: openProblem(error) };
  } finally {
    closeSync(fd);
  }
}

/** What somebody wrote by hand has less. */
const largestText = 1024 * 1024;

/** The text of a small regular file that may be a command's work; none when it is missing, too large or something else. */
export function readSmallText(path: string): string {
  const bytes = readRegularFile(path, largestText + 1);
  return bytes instanceof Uint8Array && bytes.length <= largestText ? new TextDecoder().decode(bytes) : "";
}

/** `a directory`, `a named pipe`, …, for a sentence about something that should have been a file. */
export function kindOf(stats: Stats): string {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a named pipe";
  if (stats.isSocket()) return "a socket";
  return "a device";
}

/** One read may give less than there is, a file in /proc for one; the size that stat tells is not trusted either. */
function readUpTo(fd: number, limit: number): Uint8Array {
  const pieces: Uint8Array[] = [];
  let room = limit;
  while (room > 0) {
    const piece = new Uint8Array(Math.min(room, 64 * 1024));
    const length = readSync(fd, piece, 0, piece.length, null);
    if (length === 0) break;
    pieces.push(piece.subarray(0, length));
    room -= length;
  }
  return Buffer.concat(pieces);
}

/** ENOENT is also what a link to nothing gives, and that is no absence. */
function isAbsence(error: unknown, path: string): boolean {
  const code = errnoOf(error);
  return code === "ENOTDIR" || (code === "ENOENT" && lstatSync(path, { throwIfNoEntry: false }) === undefined);
}

const openProblems: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  ENOENT: "it is a broken symbolic link",
  EPERM: "permission denied",
  ELOOP: "too many levels of symbolic links",
  // What opening a socket gives.
  ENXIO: "it is a socket or a device without a driver, not a file",
};

function openProblem(error: unknown): string {
  const code = errnoOf(error);
  if (code === undefined) throw error;
  return openProblems[code] ?? code;
}
