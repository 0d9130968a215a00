import { release } from "node:os";

/** Compares the release of this kernel, or another one, with a version. */
export function isOlderThan([major, minor]: readonly [number, number], kernel: string = release()): boolean {
  const [itsMajor = 0, itsMinor = 0] = kernel.split(".").map(Number);
  return itsMajor < major || (itsMajor === major && itsMinor < minor);
}
