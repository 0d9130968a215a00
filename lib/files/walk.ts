import { lstatSync, readlinkSync, type StatsBase } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf, messageOf } from "../errors.ts";

export type FileKind = "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "missing";

export type Walk = {
  /** Absolute and without a symlink; what does not exist yet is kept as it was named. */
  real: string;
  kind: FileKind;
  /** The symlinks that were followed, by the place where each one lies. */
  followed: readonly string[];
  /** Why the path cannot be used at all, as the rest of a sentence; `real` is then as far as the walk came. */
  fault?: string;
};

/** As many as Linux allows; more is a loop. */
const maxHops = 40;
const maxNameBytes = 255;
const maxPathBytes = 4095;

/** `look` says what lies at a path, where that is not for the file system alone to say. */
type Way = { follow: boolean; look?: (path: string) => Lookup };

/**
 * Follows an absolute path as the kernel would, hop by hop: `..` after a symlink is the parent of what it points to.
 * Only below something that does not exist is `..` taken by its letters. With `follow: false` a symlink at the end is
 * itself the goal.
 */
export function followPath(absolute: string, { follow, look: lookAt = lookUp }: Way): Walk {
  const fault = faultOfText(absolute);
  if (fault !== undefined) return { real: "/", kind: "missing", followed: [], fault };

  const followed: string[] = [];
  const pending = absolute.split("/").reverse();
  let real = "/";
  let kind: FileKind = "directory";
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (kind !== "directory" && kind !== "missing")
      return { real, kind, followed, fault: `"${real}" is not a directory` };
    if (name === "" || name === ".") continue;

    const next = name === ".." ? dirname(real) : join(real, name);
    // Below what is missing there is nothing to ask the system for.
    const found: Lookup = kind === "missing" && name !== ".." ? missing : lookAt(next);
    if ("fault" in found) return { real, kind, followed, fault: found.fault };
    const isGoal = !follow && pending.every((rest) => rest === "");
    if (found.kind !== "symlink" || isGoal) {
      real = next;
      kind = found.kind;
      if (isGoal) break;
      continue;
    }

    followed.push(next);
    if (followed.length > maxHops) return { real, kind, followed, fault: "too many levels of symbolic links" };
    if (found.target.startsWith("/")) real = "/";
    pending.push(...found.target.split("/").reverse());
  }
  return { real, kind, followed };
}

/** Faults that the letters alone show; the system would only report them for the parts that exist. */
function faultOfText(path: string): string | undefined {
  if (path.includes("\0")) return "it contains a NUL byte";
  if (Buffer.byteLength(path) > maxPathBytes) return `it is longer than ${maxPathBytes} bytes`;
  const long = path.split("/").some((name) => Buffer.byteLength(name) > maxNameBytes);
  return long ? `a name in it is longer than ${maxNameBytes} bytes` : undefined;
}

export type Lookup = { kind: Exclude<FileKind, "symlink"> } | { kind: "symlink"; target: string } | { fault: string };

const missing: Lookup = { kind: "missing" };

export function lookUp(path: string): Lookup {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return missing;
    const kind = kindOf(stats);
    if (kind !== "symlink") return { kind };
    const target = readlinkSync(path);
    // In place of bytes that are not UTF-8; something else may lie at the path that this one is read as.
    return target.includes("\ufffd")
      ? { fault: `the symlink "${path}" has a target that is not UTF-8` }
      : { kind, target };
  } catch (error) {
    return { fault: faultOf(error, path) };
  }
}

type Kinds = Pick<StatsBase<unknown>, "isFile" | "isDirectory" | "isSymbolicLink" | "isFIFO" | "isSocket">;

export function kindOf(stats: Kinds): Exclude<FileKind, "missing"> {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isFIFO()) return "fifo";
  return stats.isSocket() ? "socket" : "device";
}

/** `a directory`, `a named pipe`, …, for a sentence about something that should have been a file. */
export function describeKind(kind: FileKind): string {
  return kind === "fifo" ? "a named pipe" : `a ${kind}`;
}

function faultOf(error: unknown, path: string): string {
  switch (errnoOf(error)) {
    case "EACCES":
    case "EPERM":
      return `permission to look at "${path}" is denied`;
    case "ENAMETOOLONG":
      return "it is too long once its symbolic links are resolved";
    case undefined:
      throw error;
    default:
      return messageOf(error);
  }
}
