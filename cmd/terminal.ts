import { fstatSync } from "node:fs";

/** The major number of /dev/null, zero, full and random on Linux: the usual devices that are not terminals. */
const memoryDevices = 1;

/** Loads node:tty only when `fd` may be a terminal: that takes longer than reading the configuration. */
export async function isTerminal(fd: number): Promise<boolean> {
  if (!mayBeTerminal(fd)) return false;
  const { isatty } = await import("node:tty");
  return isatty(fd);
}

function mayBeTerminal(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    const major = process.platform === "linux" ? (stats.rdev >> 8) & 0xfff : undefined;
    return stats.isCharacterDevice() && major !== memoryDevices;
  } catch {
    // It is closed; the first write will fail.
    return false;
  }
}
