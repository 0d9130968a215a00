import { release } from "node:os";

/** Is this kernel, or the one whose release is given, older than that version? */
export function isOlderThan([major, minor]: readonly [number, number], kernel: string = release()): boolean {
  const [itsMajor = 0, itsMinor = 0] = kernel.split(".").map(Number);
  return itsMajor < major || (itsMajor === major && itsMinor < minor);
}
