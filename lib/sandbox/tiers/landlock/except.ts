import { type Dirent, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { unlessRefused } from "../../../errors.ts";
import { folded, isBelow } from "../../../files/path.ts";
import { look } from "../../layout/host.ts";
import type { Policy } from "../../policy/policy.ts";
import { Unavailable } from "../unavailable.ts";

/** Each rule costs every command some microseconds, and more once its process looks for files. */
export const mostRules = 3_000;

/**
 * The files and directories that together are everything but what is hidden. Landlock cannot take back below a
 * directory what was allowed for it, so each directory on the way to something hidden is replaced by what lies in it.
 * Directories are listed for each command: files that came since the last one are to be read like the rest.
 */
export function everythingExcept(
  { hide, show }: Pick<Policy, "hide" | "show">,
  most: number = mostRules,
): readonly string[] {
  const hidden = new Set(hide.map(folded));
  const onTheWay = new Set(hide.flatMap(directoriesAbove).map(folded));
  const shown = new Set(show);
  const found: string[] = [];
  visit("/");
  return found;

  function visit(path: string): void {
    if (hidden.has(folded(path)) && !shown.has(path)) return outermostIn(path).forEach(visit);
    if (onTheWay.has(folded(path))) return entriesOf(path, most).forEach(visit);
    found.push(path);
    if (found.length > most) throw tooMany(path, most);
  }

  /** The exceptions in something hidden. A rule about a symlink would be about whatever it leads to by then. */
  function outermostIn(directory: string): readonly string[] {
    const inside = show.filter((path) => path !== directory && isBelow(path, directory));
    const outermost = inside.filter((path) => !inside.some((other) => other !== path && isBelow(path, other)));
    return outermost.filter((path) => isThere(path));
  }
}

/** Something that is no symlink: what that leads to counts, and is asked about by its own name. */
export function isThere(path: string): boolean {
  const kind = look(path);
  return kind !== undefined && kind !== "link";
}

function directoriesAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...directoriesAbove(parent)];
}

/** Of a directory that koda may not list nothing is allowed. */
function entriesOf(directory: string, most: number): readonly string[] {
  const entries = unlessRefused(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  if (entries.length > most) throw tooMany(directory, most);
  return entries.filter((entry) => !isLink(directory, entry)).map(({ name }) => join(directory, name));
}

/** Some file systems list names without saying what they name. */
function isLink(directory: string, entry: Dirent): boolean {
  if (entry.isFile() || entry.isDirectory()) return false;
  return entry.isSymbolicLink() || !isThere(join(directory, entry.name));
}

function tooMany(path: string, most: number): Unavailable {
  return new Unavailable(
    `more than ${most} files lie beside hidden ones, in "${path}" for one, and Landlock needs a rule for each`,
  );
}
