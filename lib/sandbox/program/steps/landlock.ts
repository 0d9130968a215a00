import type { Assembly, StepOptions, Variable } from "../../assembly/assembly.ts";
import { asPlace, howBytes, here, RESOLVE_NO_SYMLINKS, resolveAt } from "./place.ts";

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
const EINVAL = 22;

/** Adds the steps that restrict what comes after them, for good. */
export function restrict(program: Assembly, { abi, paths, closesTcp = false }: Restriction): void {
  const handled = handledBy(abi);
  const ruleset = program.variable();
  const attributes = program.words(handled.files, closesTcp ? handled.network : 0n, handled.scope);
  program.step("landlock_create_ruleset", [attributes, handled.structBytes, 0], {
    must: "landlock_create_ruleset",
    into: ruleset,
  });
  const rows = paths.flatMap(({ path, access }) => {
    const allowed = access & handled.files;
    const resolve = (access & writing) === writing ? RESOLVE_NO_SYMLINKS : 0;
    return allowed === 0n ? [] : [program.text(path), resolve, allowed, allowed & ofFiles];
  });
  addRules(program, ruleset, rows);
  program.step("landlock_restrict_self", [ruleset, 0], { must: "landlock_restrict_self" });
  program.step("close", [ruleset]);
}

/**
 * A row has a path, how to resolve it, the rights there, and those if it is no directory. The program goes through them
 * in a loop, since there may be hundreds: steps for each took longer to write than the rest of the program.
 */
function addRules(program: Assembly, ruleset: Variable, rows: readonly (number | bigint)[]): void {
  const row = { address: program.words(program.words(...rows, 0)) };
  const [path, place, ifFile] = [program.variable(), program.variable(), program.variable()];
  const [how, rule] = [program.words(asPlace, 0, 0), program.words(0, 0)];
  const [next, end] = [program.label("next rule"), program.label("end of the rules")];
  const [isFile, isAdded] = [program.label("a file"), program.label("the rule is added")];
  const add = (options: StepOptions) =>
    program.step("landlock_add_rule", [ruleset, pathRule, rule, 0], { must: "landlock_add_rule", ...options });

  program.place(next);
  program.next(row, path);
  program.jump("zero", end);
  for (const variable of [{ address: how + resolveAt }, { address: rule }, ifFile]) program.next(row, variable);
  // A missing path needs no permission.
  program.step("openat2", [here, path, how, howBytes], { onError: next, into: place, into32: rule + 8 });
  add({ onErrno: { errno: [EINVAL], to: isFile } });
  program.jump("always", isAdded);
  program.place(isFile);
  program.take(ifFile);
  program.jump("zero", isAdded);
  program.save({ address: rule });
  add({});
  program.place(isAdded);
  program.step("close", [place]);
  program.jump("always", next);
  program.place(end);
}
