import { lstatSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { unlessRefused } from "../../errors.ts";
import type { Policy } from "./policy.ts";
import type { WriteRefusal } from "./reach.ts";

/** The users other than 0 to whom writable roots belong. */
export function ownersBeside({ write }: Pick<Policy, "write">): readonly number[] {
  const all = write.flatMap((root) => unlessRefused(() => lstatSync(root).uid) ?? []);
  return [...new Set(all)].filter((owner) => owner !== 0);
}

type OwnerRefusal = Extract<WriteRefusal, { kind: "owner" }>;

/**
 * Why a path in a writable root may not be written by commands of user 0, if so: without all of that user's rights they
 * may not write in every directory of others. File tools run with all of them, and refuse what commands cannot do.
 */
export function ownerRefusal(real: string, policy: Pick<Policy, "owners" | "write">): OwnerRefusal | undefined {
  const { owners } = policy;
  if (owners === undefined) return undefined;
  const lent = owners.length > 0 ? [0, ...owners] : owners;
  const directory = nearest(dirname(real));
  const ways = [directory, ...(isForeignFile(real) ? [real] : [])];
  for (const place of ways) {
    const stats = lookAt(place);
    if (stats === undefined || lent.includes(stats.uid) || letsWrite(stats)) continue;
    return { kind: "owner", directory, owner: stats.uid, canOpen: !ownersBeside(policy).includes(stats.uid) };
  }
  return undefined;
}

/** A file of user 0's own may be read-only, and is then replaced as everyone's own are. */
function isForeignFile(real: string): boolean {
  const stats = lookAt(real);
  return stats !== undefined && stats.isFile() && stats.uid !== 0;
}

function nearest(directory: string): string {
  return directory === "/" || lookAt(directory) !== undefined ? directory : nearest(dirname(directory));
}

function lookAt(path: string): Stats | undefined {
  return unlessRefused(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** As the kernel decides by the mode alone. */
function letsWrite({ uid, gid, mode }: Stats): boolean {
  if (uid === process.getuid?.()) return (mode & 0o200) !== 0;
  const isMember = process.getgid?.() === gid || (process.getgroups?.() ?? []).includes(gid);
  return (mode & (isMember ? 0o020 : 0o002)) !== 0;
}

/** The reason, and what to do about it. */
export function whoseIs({ directory, owner, canOpen }: OwnerRefusal): string {
  const way = canOpen ? `--allow-write ${directory} opens it` : "koda doctor says why";
  return `"${directory}" belongs to user ${owner} (${way})`;
}
