import { allow, type Architecture, type Case, type Check, compileFilter, notify, refuse, type Rule } from "./bpf.ts";
import { type Syscall, syscalls } from "./syscalls.ts";

export type FilterOptions = {
  /** "tcp": TCP and what looks names up; "none": no sockets but those of this machine. */
  network: "tcp" | "none";
  /** Sockets in the file system. Closed where nobody supervises what they connect to. */
  unixSockets: boolean;
  /** Asks the supervisor about every connect(). */
  superviseConnect: boolean;
};

const [notPermitted, noSuchCall, noSuchFamily, noSuchProtocol] = [1, 38, 97, 93] as const;

/** Ways into other processes, into the kernel and around the file system's rules, that no development tool needs. */
const forbidden: readonly Syscall[] = [
  ...(["process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "ptrace"] as const),
  ...(["bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key"] as const),
  ...([
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "mount_setattr",
    "open_tree",
    "open_tree_attr",
    "move_mount",
  ] as const),
  ...(["fsopen", "fsconfig", "fsmount", "fspick", "setns"] as const),
  ...(["init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"] as const),
  ...(["swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "clock_settime"] as const),
  ...(["sethostname", "setdomainname", "iopl", "ioperm", "name_to_handle_at", "open_by_handle_at"] as const),
  ...(["fanotify_init", "lookup_dcookie", "syslog", "vhangup", "nfsservctl"] as const),
];

/**
 * Calls whose arguments a filter cannot see, since they lie in memory: they are said not to exist, and programs take the
 * older call that can be judged (clone for clone3, openat for openat2).
 */
const opaque: readonly Syscall[] = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2"];

/** CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net; unshare knows time as well. */
const anyNamespace = 0x7e02_0000;
const timeNamespace = 0x80;
/** S_ISUID | S_ISGID: a root run could leave a program behind that makes its caller root. */
const setIdBits = 0o6000;
/** O_CREAT, and the bit that O_TMPFILE has of its own. */
const makesFile = 0o100 | 0o20000000;
const fastOpen = 0x2000_0000;
const [terminalInput, consoleControl] = [0x5412, 0x541c] as const;
const [unix, inet, inet6, netlink] = [1, 2, 10, 16] as const;
const [stream, datagram, typeBits] = [1, 2, 0xf] as const;
const [anyProtocol, tcp] = [0, 6] as const;

/** The filter that every command runs under, for good: it cannot be taken off, and children inherit it. */
export function seccompFilter(arch: "x64" | "arm64", options: FilterOptions): Uint8Array {
  return compileFilter(architectures[arch], rulesFor(arch, options));
}

const architectures: Record<"x64" | "arm64", Architecture> = {
  // From 0x40000000 on x86-64 has the calls of x32, with the same effects.
  x64: { audit: 0xc000003e, otherCallsFrom: 0x40000000 },
  arm64: { audit: 0xc00000b7 },
};

function rulesFor(arch: "x64" | "arm64", options: FilterOptions): Rule[] {
  const column = arch === "x64" ? 0 : 1;
  const named: NamedRule[] = [
    ...forbidden.map((call) => ({ call, otherwise: refuse(notPermitted) })),
    ...opaque.map((call) => ({ call, otherwise: refuse(noSuchCall) })),
    refusing("unshare", { argument: 0, hasAny: anyNamespace | timeNamespace }),
    refusing("clone", { argument: 0, hasAny: anyNamespace }),
    // Of another process: it could put a limit on koda itself.
    refusing("prlimit64", { argument: 0, isNot: 0 }),
    refusing("ioctl", { argument: 1, is: terminalInput }, { argument: 1, is: consoleControl }),
    ...setIdRules,
    // It connects without a connect() that anything else would see.
    refusing("sendto", { argument: 3, hasAny: fastOpen }),
    refusing("sendmsg", { argument: 2, hasAny: fastOpen }),
    refusing("sendmmsg", { argument: 3, hasAny: fastOpen }),
    ...(options.superviseConnect ? [{ call: "connect", otherwise: notify } as const] : []),
    socketPairs,
    sockets(options),
  ];
  return named.flatMap(({ call, ...rule }) => {
    const number = syscalls[call][column];
    return number < 0 ? [] : [{ call: number, ...rule }];
  });
}

type NamedRule = Omit<Rule, "call"> & { call: Syscall };

/** A call that is refused in some cases and allowed in all others. */
function refusing(call: Syscall, ...checks: Check[]): NamedRule {
  const cases = checks.map((check) => ({ when: [check], verdict: refuse(notPermitted) }));
  return { call, cases, otherwise: allow };
}

/** Wherever a mode is given: as a change, and when a file is made. A mode that makes nothing may be left over in its register. */
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
  const when = [{ argument: flags, hasAny: makesFile }, setId(mode)];
  return { call, cases: [{ when, verdict: refuse(notPermitted) }], otherwise: allow };
}

/** A pair stays within the process and its children; but datagram ones can be connected anew, to anything. */
const socketPairs: NamedRule = {
  call: "socketpair",
  cases: [
    {
      when: [
        { argument: 0, is: unix },
        { argument: 1, mask: typeBits, isNot: datagram },
      ],
      verdict: allow,
    },
    { when: [{ argument: 0, is: unix }], verdict: refuse(notPermitted) },
  ],
  otherwise: refuse(noSuchFamily),
};

/** What may be opened is listed; whatever else the kernel knows is no such family. */
function sockets({ network, unixSockets }: FilterOptions): NamedRule {
  const cases: Case[] = [
    // Which addresses this machine has: name look-ups ask for that. Other protocols of netlink change things.
    {
      when: [
        { argument: 0, is: netlink },
        { argument: 2, is: anyProtocol },
      ],
      verdict: allow,
    },
  ];
  if (unixSockets)
    cases.push({
      when: [
        { argument: 0, is: unix },
        { argument: 1, mask: typeBits, isNot: datagram },
      ],
      verdict: allow,
    });
  if (network === "tcp") for (const family of [inet, inet6]) cases.push(...internet(family));
  return { call: "socket", cases, otherwise: refuse(noSuchFamily) };
}

/** TCP alone: not UDP, which needs no connect(), and not MPTCP or SCTP, which have one of their own. */
function internet(family: number): Case[] {
  const isFamily = { argument: 0, is: family };
  const isStream = { argument: 1, mask: typeBits, is: stream };
  return [
    { when: [isFamily, { argument: 1, mask: typeBits, isNot: stream }], verdict: refuse(notPermitted) },
    { when: [isFamily, isStream, { argument: 2, is: anyProtocol }], verdict: allow },
    { when: [isFamily, isStream, { argument: 2, is: tcp }], verdict: allow },
    { when: [isFamily], verdict: refuse(noSuchProtocol) },
  ];
}
