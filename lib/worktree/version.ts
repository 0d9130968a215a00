import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { dirname } from "node:path";
import { unlessRefused } from "../errors.ts";

/** git's three kinds of file. */
export type Mode = "100644" | "100755" | "120000";

/** A file at one moment. Its bytes are absent when it is too large, unreadable, or was not kept. */
export type Version = { mode: Mode; bytes?: Uint8Array };

/** What changes when somebody writes to a file: cheap to look at, and next to impossible to keep by accident. */
export type Signature = {
  mode: Mode;
  size: number;
  modifiedMs: number;
  changedMs: number;
  device: number;
  inode: number;
};

/** Files beyond this have a signature only. */
export const largestFile = 10 * 1024 * 1024;

/**
 * Looks at many files, one after the other. Undefined for what is not there, for what is neither a file nor a symlink,
 * and for what is only reached through a symlink: that is another place's file.
 */
export function createLook(): (path: string) => Signature | undefined {
  const directories = new Map<string, boolean>();
  return (path) => {
    const directory = dirname(path);
    const isReal = directories.get(directory) ?? unlessRefused(() => realpathSync(directory)) === directory;
    directories.set(directory, isReal);
    return isReal ? signatureOf(path) : undefined;
  };
}

function signatureOf(path: string): Signature | undefined {
  const stats = unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats === undefined || !(stats.isFile() || stats.isSymbolicLink())) return undefined;
  const { size, mtimeMs, ctimeMs, dev, ino } = stats;
  return { mode: modeOf(stats), size, modifiedMs: mtimeMs, changedMs: ctimeMs, device: dev, inode: ino };
}

function modeOf(stats: Stats): Mode {
  if (stats.isSymbolicLink()) return "120000";
  return (stats.mode & 0o100) === 0 ? "100644" : "100755";
}

export function sameSignature(a: Signature, b: Signature): boolean {
  return (
    a.mode === b.mode &&
    a.size === b.size &&
    a.modifiedMs === b.modifiedMs &&
    a.changedMs === b.changedMs &&
    a.inode === b.inode
  );
}

/** The file with its bytes, unless it is too large or cannot be read. */
export function versionAt(path: string, { mode, size }: Signature): Version {
  if (size > largestFile) return { mode };
  const bytes = mode === "120000" ? unlessRefused(() => readlinkSync(path, "buffer")) : readFile(path, size);
  return bytes === undefined ? { mode } : { mode, bytes };
}

/** No more than was announced, and nothing but a file: a FIFO put in its place would never end. */
function readFile(path: string, size: number): Uint8Array | undefined {
  return unlessRefused(() => {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return undefined;
      const bytes = new Uint8Array(size);
      let length = 0;
      while (length < size) {
        const read = readSync(file, bytes, length, size - length, null);
        if (read === 0) break;
        length += read;
      }
      return bytes.subarray(0, length);
    } finally {
      closeSync(file);
    }
  });
}
