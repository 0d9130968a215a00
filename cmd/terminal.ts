import { fstatSync } from "node:fs";

/** On Linux: null, zero, full, random. They are no terminals, and one of them is most often what stands in for one. */
const memoryDevices = 1;

/** Asks node:tty only when it could be one: loading it takes longer than reading the configuration. */
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
    // It is closed, and whoever writes to it will be told.
    return false;
  }
}
