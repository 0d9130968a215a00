import { chmodSync, chownSync, mkdtempSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf, reasonOf, unlessRefused } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import { ownersBeside } from "../policy/owner.ts";
import type { Policy } from "../policy/policy.ts";
import { type Capability, maskOf } from "../program/steps/capabilities.ts";

/**
 * Rights of user 0 that commands keep where a writable root belongs to another user, as a checkout that is mounted
 * into a container does: koda can write there, and without these commands could not. Nothing is kept anywhere else.
 */
export type OwnerRights = Disposable & {
  readonly capabilities: readonly Capability[];
  /** The users and groups of the commands' namespace: the kept rights hold for files of these users alone. */
  readonly maps?: { readonly users: string; readonly groups: string };
  /** A directory that can be opened by no command, since its owner is not mapped; it hides others. */
  readonly cover?: string;
  /** As `Policy` has it. */
  readonly owners?: readonly number[];
  readonly notes: readonly string[];
};

/**
 * In a user namespace. Its map leaves out all users but 0 and the owners, so that what belongs to others is as closed
 * as ever; mounts keep everything outside of the writable roots as it is, and what is hidden belongs to an unmapped
 * user.
 */
export function rightsInNamespace(policy: Policy): OwnerRights {
  return rightsFor(policy, (owners) => {
    mustHave(["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]);
    const cover = makeCover(owners, policy);
    return {
      // To write and create; to change modes and times; to set owners, as tar and cp -a do.
      capabilities: ["DAC_OVERRIDE", "FOWNER", "CHOWN"],
      maps: { users: [0, ...owners].map((id) => `${id} ${id} 1\n`).join(""), groups: sameGroups() },
      cover,
      owners,
      notes: [`commands can read files that only ${named(owners)} may read, who owns a writable directory`],
      [Symbol.dispose]: () => void unlessRefused(() => rmdirSync(cover)),
    };
  });
}

/**
 * Outside of a namespace the kept right holds for every file, and only Landlock limits it, which knows reading and
 * writing but neither modes nor owners: so those are not to be changed.
 */
export function rightsHere(policy: Policy): OwnerRights {
  return rightsFor(policy, (owners) => {
    mustHave(["DAC_OVERRIDE"]);
    const why = `${named(owners)} owns a writable directory`;
    return {
      ...nothing,
      capabilities: ["DAC_OVERRIDE"],
      notes: [`commands can read files that only other users may read, and cannot change the modes of those: ${why}`],
    };
  });
}

function rightsFor(policy: Policy, grant: (owners: readonly number[]) => OwnerRights): OwnerRights {
  if (process.getuid?.() !== 0) return nothing;
  const owners = ownersBeside(policy);
  if (owners.length === 0) return { ...nothing, owners };
  try {
    return grant(owners);
  } catch (error) {
    if (!(error instanceof CannotGrant) && errnoOf(error) === undefined) throw error;
    const note = `commands cannot write what belongs to ${named(owners)}: ${reasonOf(error)}`;
    return { ...nothing, owners: [], notes: [note] };
  }
}

const nothing: OwnerRights = { capabilities: [], notes: [], [Symbol.dispose]: () => {} };

class CannotGrant extends Error {
  override readonly name = "CannotGrant";
}

/** Commands never have a right that koda itself has not. */
function mustHave(names: readonly Capability[]): void {
  const status = readFileSync("/proc/self/status", "latin1");
  const mine = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const missing = names.filter((name) => (mine & maskOf([name])) === 0n);
  if (missing.length > 0) throw new CannotGrant(`koda has no ${missing.map((name) => `CAP_${name}`).join(", ")}`);
}

/** Beside the run's own directory for temporary files, and so gone with it at the latest. */
function makeCover(owners: readonly number[], { tmp, write }: Policy): string {
  const stranger = unmapped(owners);
  const cover = mkdtempSync(join(dirname(tmp), "cover-"));
  try {
    if (write.some((root) => isBelow(cover, root))) throw new CannotGrant("TMPDIR lies in a writable directory");
    chmodSync(cover, 0);
    chownSync(cover, stranger, stranger);
    return cover;
  } catch (error) {
    rmdirSync(cover);
    throw error;
  }
}

type Range = { first: number; count: number };

/** A user that exists for koda and not for commands: the last one there is. */
function unmapped(owners: readonly number[]): number {
  const ranges = rangesOf("/proc/self/uid_map");
  if (!owners.every((owner) => ranges.some(({ first, count }) => owner >= first && owner < first + count)))
    throw new CannotGrant("koda's own user namespace does not have that user");
  const last = ranges.map(({ first, count }) => first + count - 1).sort((a, b) => b - a);
  const found = last.flatMap((id) => [id, id - 1]).find((id) => id > 0 && !owners.includes(id));
  if (found === undefined) throw new CannotGrant("koda's own user namespace has no further user");
  return found;
}

/** Files of the owners may have any group. */
function sameGroups(): string {
  return rangesOf("/proc/self/gid_map")
    .map(({ first, count }) => `${first} ${first} ${count}\n`)
    .join("");
}

function rangesOf(map: string): Range[] {
  return readFileSync(map, "latin1")
    .trim()
    .split("\n")
    .map((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
      return { first, count };
    });
}

function named(owners: readonly number[]): string {
  return `user ${owners.join(" and ")}`;
}
