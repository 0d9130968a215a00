import { type Arch, processors } from "../assembly/processors.ts";
import { type Syscall, syscalls } from "../assembly/syscalls.ts";
import { type Architecture, type Check, compileFilter, type Rule } from "./bpf.ts";
import { forbidden, obsolete, opaque } from "./forbidden.ts";
import { limitRules } from "./limits.ts";
import { type NeighbourOptions, neighbourRules } from "./neighbours.ts";
import { requestRules } from "./requests.ts";
import { type NamedRule, noSuchCall, notAllowed, notPermitted, refusing, refusingAll } from "./rule.ts";
import { type SocketOptions, socketRules } from "./socketrules.ts";

export type FilterOptions = SocketOptions & NeighbourOptions;

/** Few differ, and each is a part of many programs. */
const compiled = new Map<string, Uint8Array>();

/** The filter that every command runs under, for good: it cannot be taken off, and children inherit it. */
export function seccompFilter(arch: Arch, options: FilterOptions): Uint8Array {
  const key = JSON.stringify([arch, options]);
  const filter = compiled.get(key) ?? compileFilter(architectures[arch], rulesFor(arch, options));
  compiled.set(key, filter);
  return filter;
}

const architectures: Record<Arch, Architecture> = {
  // From 0x40000000 on x86-64 has the calls of x32, with the same effects.
  x64: { audit: 0xc000003e, otherCallsFrom: 0x40000000 },
  arm64: { audit: 0xc00000b7 },
};

function rulesFor(arch: Arch, options: FilterOptions): Rule[] {
  const { column } = processors[arch];
  const named = [
    ...refusingAll(forbidden, notPermitted),
    ...refusingAll([...opaque, ...obsolete], noSuchCall),
    ...processRules,
    ...limitRules,
    ...requestRules,
    ...setIdRules,
    ...neighbourRules(options),
    ...socketRules(options),
  ];
  return named.flatMap(({ call, ...rule }) => {
    const number = syscalls[call][column];
    return number < 0 ? [] : [{ call: number, ...rule }];
  });
}

/** CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net; unshare knows time as well. */
const anyNamespace = 0x7e02_0000;
const timeNamespace = 0x80;
/** CLONE_PARENT: a process that its parent's parent has to look after. */
const siblingOfParent = 0x8000;
const newListener = 8;

const processRules: readonly NamedRule[] = [
  refusing("unshare", { argument: 0, hasAny: anyNamespace | timeNamespace }),
  refusing("clone", { argument: 0, hasAny: anyNamespace | siblingOfParent }),
  // Of two supervisors the later one is asked: a command's own would let through what koda's is there to refuse.
  refusing("seccomp", { argument: 1, hasAny: newListener }),
];

/** S_ISUID | S_ISGID: a root run could leave a program behind that makes its caller root. */
const setIdBits = 0o6000;
/** O_CREAT, and the bit that O_TMPFILE has of its own. */
const makesFile = 0o100 | 0o20000000;

/**
 * Wherever a mode is given: as a change, and when a file is made. A mode that makes nothing may be left over in its
 * register. Directories are not made with these bits: the kernel itself drops them.
 */
const setIdRules: readonly NamedRule[] = [
  ...(["chmod", "fchmod", "creat", "mknod"] as const).map((call) => refusing(call, setId(1))),
  ...(["fchmodat", "fchmodat2", "mknodat"] as const).map((call) => refusing(call, setId(2))),
  makingSetId("open", { flags: 1, mode: 2 }),
  makingSetId("openat", { flags: 2, mode: 3 }),
];

function setId(argument: number): Check {
  return { argument, hasAny: setIdBits };
}

function makingSetId(call: Syscall, { flags, mode }: { flags: number; mode: number }): NamedRule {
  return { ...refusing(call), cases: [notAllowed({ argument: flags, hasAny: makesFile }, setId(mode))] };
}
