import { lstatSync, type BigIntStats } from "node:fs";
import { unlessRefused } from "../../errors.ts";

/**
 * Tells a thing from another that takes its place, even where it gets the same inode, and finds it again after a
 * rename. The time of birth is 0 on file systems that keep none.
 */
export function identityOf({ dev, ino, birthtimeNs }: Pick<BigIntStats, "dev" | "ino" | "birthtimeNs">): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Unlike the times of its last change nobody can set it. */
export function bornMs(identity: string): number {
  return Number(identity.split(":")[2]) / 1e6;
}

export function identityAt(path: string): string | undefined {
  const stats = unlessRefused(() => statsAt(path));
  return stats && identityOf(stats);
}

export function statsAt(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

/** The coarsest clock of a file system in use ticks every two seconds: after that no change can have the same time. */
export const tickMs = 2000;
