import { statSync } from "node:fs";
import type { Assembly } from "../../assembly/assembly.ts";
import { openPath, openWithoutLinks } from "./place.ts";

/** Landlock's access rights for files, in the order of its bits. */
const bits = [
  ...(["execute", "writeFile", "readFile", "readDirectory", "removeDirectory", "removeFile"] as const),
  ...(["makeCharacterDevice", "makeDirectory", "makeFile", "makeSocket", "makePipe", "makeBlockDevice"] as const),
  ...(["makeLink", "refer", "truncate", "deviceControl", "resolveSocket"] as const),
] as const;
type Access = (typeof bits)[number];

function maskOf(...accesses: readonly Access[]): bigint {
  return accesses.reduce((mask, access) => mask | (1n << BigInt(bits.indexOf(access))), 0n);
}

export const reading = maskOf("execute", "readFile", "readDirectory");
/** All but making devices, which no build needs. */
export const writing = maskOf(
  ...(["writeFile", "removeDirectory", "removeFile", "makeDirectory", "makeFile", "makeSocket"] as const),
  ...(["makePipe", "makeLink", "refer", "truncate", "resolveSocket"] as const),
);
export const listing = maskOf("readDirectory");
/** Of a device like /dev/null, or of a terminal. */
export const usingDevice = maskOf("readFile", "writeFile", "truncate", "deviceControl");

/** The rights that a rule about anything but a directory may name; the kernel refuses the rest. */
const ofFiles = maskOf("execute", "writeFile", "readFile", "truncate", "deviceControl", "resolveSocket");

const connectTcp = 2n;
const [abstractSockets, signals] = [1n, 2n] as const;

/** The oldest version that keeps a command from signalling koda: older ones are not enough. */
export const neededAbi = 6;

/** The rights that a version of Landlock knows; the kernel refuses a ruleset with others. */
export function handledBy(abi: number): { files: bigint; network: bigint; scope: bigint; structBytes: number } {
  return {
    files: (1n << BigInt(knownBits(abi))) - 1n,
    network: abi >= 4 ? connectTcp : 0n,
    scope: abi >= 6 ? abstractSockets | signals : 0n,
    structBytes: abi >= 6 ? 24 : abi >= 4 ? 16 : 8,
  };
}

/**
 * A version may add bits at the end of the row: the second renaming across directories, the third truncation, the fifth
 * ioctl, the ninth pathname sockets. The seventh and eighth have new flags, the tenth UDP, which needs no rule here
 * since commands get no UDP socket: of a newer kernel no more is asked.
 */
function knownBits(abi: number): number {
  return [0, 13, 14, 15, 15, 16, 16, 16, 16][abi] ?? bits.length;
}

export type PathRule = { path: string; access: bigint };

export type Restriction = {
  abi: number;
  /** Everything else is refused. */
  paths: readonly PathRule[];
  /** No TCP connections; otherwise the network is left to others. */
  closesTcp?: boolean;
};

const pathRule = 1;

/** Adds the steps that restrict what comes after them, for good. */
export function restrict(program: Assembly, { abi, paths, closesTcp = false }: Restriction): void {
  const handled = handledBy(abi);
  const ruleset = program.variable();
  const attributes = program.words(handled.files, closesTcp ? handled.network : 0n, handled.scope);
  program.step("landlock_create_ruleset", [attributes, handled.structBytes, 0], {
    must: "landlock_create_ruleset",
    into: ruleset,
  });

  for (const { path, access } of paths) {
    const allowed = access & handled.files & (isDirectory(path) ? ~0n : ofFiles);
    if (allowed === 0n) continue;
    const rule = program.words(allowed, 0);
    const [place, missing] = [program.variable(), program.label(`${path} is missing`)];
    // A missing path needs no permission.
    const open = (access & writing) === writing ? openWithoutLinks : openPath;
    open(program, path, { onError: missing, into: place, into32: rule + 8 });
    program.step("landlock_add_rule", [ruleset, pathRule, rule, 0], { must: `landlock_add_rule ${path}` });
    program.step("close", [place]);
    program.place(missing);
  }
  program.step("landlock_restrict_self", [ruleset, 0], { must: "landlock_restrict_self" });
  program.step("close", [ruleset]);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
