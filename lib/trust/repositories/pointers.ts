import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { HeldDirectory } from "../../files/held.ts";
import { isBelow } from "../../files/path.ts";

/** git reads no more from a file that points somewhere, and no configuration has more. */
const mostBytes = 1024 * 1024;

/** git reads bytes: what does not survive decoding would be judged as something else. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a regular file in a git directory; throws for anything else, and for one that is too large. */
export function textIn(directory: HeldDirectory, name: string): string {
  return decoder.decode(bytesIn(directory, name));
}

export function bytesIn(directory: HeldDirectory, name: string): Buffer {
  using file = directory.openFile(name);
  if (file.stats.size > mostBytes) throw new Error(`"${name}" in it is larger than 1 MB`);
  return readFileSync(file.descriptor);
}

/** The same for a real path. */
export function textAt(real: string): string {
  using directory = HeldDirectory.open(dirname(real));
  return textIn(directory, basename(real));
}

/** Is it in one of the writable roots, or one itself? */
export function isInside(real: string, roots: readonly string[]): boolean {
  return roots.some((root) => isBelow(real, root));
}

export function whyOutside(real: string, roots: readonly string[]): string | undefined {
  return isInside(real, roots) ? undefined : `it points to "${real}", outside the writable directories`;
}
