import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../errors.ts";
import { temporaryName } from "./save.ts";

/** Enough for a disk on which something else may just have been removed. */
const probeBytes = 16 * 1024 * 1024;

/**
 * True when nothing more can be written there. Programs say so in words that may be a file's name or a server's too, so
 * these are believed only when this agrees.
 */
export function isDiskFull(directory: string): boolean {
  const file = join(directory, temporaryName());
  try {
    const descriptor = openSync(file, "wx", 0o600);
    try {
      writeFileSync(descriptor, Buffer.alloc(probeBytes));
    } finally {
      closeSync(descriptor);
      rmSync(file, { force: true });
    }
    return false;
  } catch (error) {
    return isLackOfSpace(error);
  }
}

export function isLackOfSpace(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(errnoOf(error) ?? "");
}

/** True when a program says that it could not write for lack of space. */
export function speaksOfLackOfSpace(said: string): boolean {
  return /no space left on device|disk quota exceeded/i.test(said);
}
