import { accessSync, constants, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { errnoOf } from "../errors.ts";
import { visibleLine } from "../visible.ts";
import { isBelow } from "./path.ts";
import { followPath, lookUp } from "./walk.ts";

/** A place that the user named for something that koda writes itself. */
export type OutputPlace =
  /** A path without symlinks; the file is replaced and keeps its mode. */
  | { kind: "file"; path: string; mode?: number }
  /** A file that koda was given open, as in `-o /dev/stdout >log`: it must not be replaced. */
  | { kind: "descriptor"; fd: number }
  /** A pipe or a device; a symlink only where that is the system's own, for a descriptor of koda. */
  | { kind: "device"; path: string; isPipe: boolean; isOwn: boolean };

/**
 * Resolves the path before the first command. koda may write where commands may not, so a symlink that lies where
 * commands may write is not followed: one that an earlier command left could lead anywhere. A user's own symlink
 * elsewhere is, even when its target does not exist yet. Throws when nothing could be written there.
 */
export function outputPlaceOf(file: string, writable: readonly string[]): OutputPlace {
  // A pipe behind /dev/stderr has no path, so its descriptor is not followed any further.
  const { real, followed, fault } = followPath(resolve(file), {
    follow: true,
    look: (path) => (ownDescriptor.test(path) ? { kind: "device" } : lookUp(path)),
  });
  if (fault !== undefined) throw new Error(fault);
  const fd = ownDescriptor.exec(real)?.[1];
  const planted = followed.find((link) => writable.some((root) => isBelow(link, root)));
  if (planted !== undefined && fd === undefined)
    throw new Error(
      `"${visibleLine(planted)}" is a symbolic link that a command could have made, and leads to "${visibleLine(real)}": remove it, or name that file`,
    );

  const stats = statSync(real, { throwIfNoEntry: false });
  if (stats?.isDirectory() || (stats === undefined && file.endsWith("/"))) throw new Error("it is a directory");
  if (stats?.isSocket()) throw new Error("it is a socket");
  if (fd !== undefined && stats === undefined) throw new Error(`file descriptor ${fd} is not open`);
  if (stats !== undefined && !stats.isFile()) {
    accessSync(real, constants.W_OK);
    return { kind: "device", path: real, isPipe: stats.isFIFO(), isOwn: fd !== undefined };
  }
  if (fd !== undefined) return { kind: "descriptor", fd: Number(fd) };
  checkDirectory(dirname(real));
  return { kind: "file", path: real, ...(stats && { mode: stats.mode & 0o777 }) };
}

const ownDescriptor = new RegExp(`^/(?:dev|proc/${process.pid}(?:/task/\\d+)?)/fd/(\\d+)$`);

/** The file is replaced, so its directory must be writable. */
function checkDirectory(path: string): void {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw new Error(`no such directory "${path}"`, { cause: error });
    throw error;
  }
}
