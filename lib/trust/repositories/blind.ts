import { accessSync, constants, lstatSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { reasonOf, unlessRefused } from "../../errors.ts";
import { folded } from "../../files/path.ts";
import { HeldDirectory } from "../../files/held.ts";
import type { RepositoryFinding } from "./finding.ts";
import { formOfName, isLaidOutBare } from "./names.ts";

/** Directories that a command made and that koda cannot look into, or change, as they are. */

/** Gives the owner of a directory the rights to look into it; false when koda may not. */
export function makeReadable(path: string): boolean {
  return (
    unlessRefused(() => {
      using parent = HeldDirectory.open(dirname(path));
      using directory = parent.child(basename(path));
      const { mode = 0n } = parent.look(basename(path)) ?? {};
      if ((mode & 0o500n) === 0o500n) return false;
      directory.chmod(Number(mode & 0o7777n) | 0o700);
      return true;
    }) ?? false
  );
}

/** Gives the owner of a directory the rights to change what is in it; false when koda may not, or need not. */
export function makeWritable(directory: HeldDirectory): boolean {
  const isWritable = unlessRefused(() => (accessSync(directory.cwd, constants.W_OK | constants.X_OK), true)) ?? false;
  const open = () => (directory.chmod((statSync(directory.cwd).mode & 0o7777) | 0o700), true);
  return !isWritable && (unlessRefused(open) ?? false);
}

const mostEntries = 10_000;

/**
 * Renames a directory with a name that is not UTF-8 when there are repositories in it: then they lie at a path, and can
 * be judged. Undefined when there are none.
 */
export function renameOdd(odd: Buffer): RepositoryFinding | undefined {
  if (!holdsRepository(odd, { entries: mostEntries })) return undefined;
  const path = odd.toString();
  const reason = "its name is not UTF-8, and there may be repositories in it";
  const movedTo = join(dirname(path), `not-utf-8-${crypto.randomUUID().slice(0, 8)}`);
  try {
    renameSync(odd, movedTo);
    return { kind: "quarantined", path, reason, movedTo };
  } catch (error) {
    return { kind: "failed", path, reason, problem: "could not rename it", error: reasonOf(error) };
  }
}

/** With more entries than can be looked through, or one that cannot be read, there may be. */
function holdsRepository(directory: Buffer, left: { entries: number }): boolean {
  const names = unlessRefused(() => readdirSync(directory, { encoding: "buffer" }));
  if (names === undefined) return true;
  if (isLaidOutBare(names.map((name) => folded(name.toString())))) return true;
  return names.some((name) => {
    if (left.entries-- <= 0 || formOfName(name.toString()) !== undefined) return true;
    const path = Buffer.concat([directory, Buffer.from("/"), name]);
    const isDirectory = unlessRefused(() => lstatSync(path).isDirectory()) ?? false;
    return isDirectory && holdsRepository(path, left);
  });
}
