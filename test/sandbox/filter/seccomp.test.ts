import { describe, expect, test } from "bun:test";
import type { Assembly } from "../../../lib/sandbox/assembly/assembly.ts";
import { type Syscall, syscalls } from "../../../lib/sandbox/assembly/syscalls.ts";
import { allow, compileFilter, kill, notify, refuse } from "../../../lib/sandbox/filter/bpf.ts";
import { type FilterOptions, seccompFilter } from "../../../lib/sandbox/filter/seccomp.ts";
import { hereArch, runAfter, withoutNewPrivileges } from "../../support/assembled.ts";
import { judge } from "../../support/bpf.ts";

const column = hereArch === "x64" ? 0 : 1;
const usual: FilterOptions = {
  network: "tcp",
  supervise: true,
  foreignProcesses: false,
  foreignIpc: false,
};
const [EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT] = [refuse(1), refuse(38), refuse(97), refuse(93)];
const audits = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

/** Where other programs' processes can be named, and what they share. */
const beside: Partial<FilterOptions> = { foreignProcesses: true, foreignIpc: true };

type Row = [name: string, call: Syscall, args: number[], verdict: number, options?: Partial<FilterOptions>];

const rows: Row[] = [
  ["an ordinary call", "write", [1, 0, 0], allow],
  ["executing a program", "execve", [], allow],
  ["a mount", "mount", [], EPERM],
  ["tracing", "ptrace", [16, 1], EPERM],
  ["reading another process's memory", "process_vm_readv", [], EPERM],
  ["taking another process's descriptor", "pidfd_getfd", [], EPERM],
  ["loading a kernel module", "finit_module", [], EPERM],
  ["the keyring", "keyctl", [], EPERM],
  ["io_uring", "io_uring_setup", [], ENOSYS],
  ["clone3", "clone3", [], ENOSYS],
  ["openat2", "openat2", [], ENOSYS],
  ["a thread", "clone", [0x3d0f00], allow],
  ["a process in a new user namespace", "clone", [0x10000000 | 17], EPERM],
  ["a process in a new network namespace", "clone", [0x40000000], EPERM],
  ["a process in place of a sibling", "clone", [0x8000 | 17], EPERM],
  ["unshare of descriptors", "unshare", [0x400], allow],
  ["unshare of the mount namespace", "unshare", [0x20000], EPERM],
  ["unshare of the time namespace", "unshare", [0x80], EPERM],
  ["one's own limits", "prlimit64", [0], allow],
  ["another's limits", "prlimit64", [1234], EPERM],
  ["asking for one's mark", "prlimit64", [0, 15, 0, 4096], allow],
  ["another mark", "prlimit64", [0, 15, 4096], EPERM],
  ["another mark, at an address that is round", "prlimit64", [0, 15, 2 ** 32], EPERM],
  ["another mark by the older call", "setrlimit", [15, 4096], EPERM],
  ["another limit by the older call", "setrlimit", [7, 4096], allow],
  ["asking for the limit of core dumps", "prlimit64", [0, 4, 0, 4096], allow],
  ["core dumps", "prlimit64", [0, 4, 4096], refuse(0)],
  ["core dumps, at an address that is round", "prlimit64", [0, 4, 2 ** 32], refuse(0)],
  ["core dumps, and what they were", "prlimit64", [0, 4, 4096, 2 ** 32], EPERM],
  ["core dumps by the older call", "setrlimit", [4, 4096], refuse(0)],
  ["the size of a terminal", "ioctl", [0, 0x5413], allow],
  ["typing into a terminal", "ioctl", [0, 0x5412], EPERM],
  ["controlling the console", "ioctl", [0, 0x541c], EPERM],
  ["taking the console's output", "ioctl", [0, 0x541d], EPERM],
  ["changing a terminal's line discipline", "ioctl", [0, 0x5423], EPERM],
  ["asking for a terminal's line discipline", "ioctl", [0, 0x5424], allow],
  ["changing the keys of a console", "ioctl", [0, 0x4b49], EPERM],
  ["a request's upper half is no part of it", "ioctl", [0, 2 ** 32 + 0x5412], EPERM],
  ["reading a file's flags", "ioctl", [3, 0x80086601], allow],
  ["making a file immutable", "ioctl", [3, 0x40086602], EPERM],
  ["making a file immutable, as 32-bit programs do", "ioctl", [3, 0x40046602], EPERM],
  ["making a file immutable by extended flags", "ioctl", [3, 0x401c5820], EPERM],
  ["reading a file's extended flags", "ioctl", [3, 0x801c581f], allow],
  ["making a file immutable by the newest call", "file_setattr", [-100], EPERM],
  ["sealing a file with a hash", "ioctl", [3, 0x40806685], EPERM],
  ["encrypting a directory", "ioctl", [3, 0x800c6613], EPERM],
  ["locking an encrypted directory", "ioctl", [3, 0xc0406618], EPERM],
  ["a copy that shares its blocks", "ioctl", [3, 0x40049409], allow],
  ["a copy of a part that shares its blocks", "ioctl", [3, 0x4020940d], allow],
  ["sharing equal blocks", "ioctl", [3, 0xc0189436], allow],
  ["a subvolume of btrfs", "ioctl", [3, 0x5000940e], EPERM],
  ["a subvolume of bcachefs", "ioctl", [3, 0x4020bc10], EPERM],
  ["a lock on a file", "fcntl", [3, 6, 0], allow],
  ["a lease on a file", "fcntl", [3, 1024, 1], EPERM],
  ["being told of changes by signals", "fcntl", [3, 1026, 1], EPERM],
  ["a delegation of a directory", "fcntl", [3, 1040, 0], EPERM],
  ["sealing memory", "fcntl", [3, 1033, 0xf], allow],
  ["a filter of one's own", "seccomp", [1, 0], allow],
  ["a filter of one's own on all threads", "seccomp", [1, 1], allow],
  ["a supervisor of one's own", "seccomp", [1, 8], EPERM],
  ["a supervisor of one's own, with another flag", "seccomp", [1, 0x18], EPERM],
  ["a Landlock of one's own", "landlock_restrict_self", [3, 0], allow],
  ["a table of segments", "modify_ldt", [1], ENOSYS],
  ["a call of old kernels", "_sysctl", [], ENOSYS],
  ["setting the clock by steps", "adjtimex", [], EPERM],
  ["setting another clock by steps", "clock_adjtime", [], EPERM],
  ["memory that the kernel cannot see", "memfd_secret", [], EPERM],
  ["freeing the memory of a dying process", "process_mrelease", [], EPERM],
  ["a security label of one's own", "lsm_set_self_attr", [], EPERM],
  ["an ordinary mode", "fchmodat", [-100, 0, 0o755], allow],
  ["a set-user-id bit", "fchmodat", [-100, 0, 0o4755], EPERM],
  ["a set-group-id bit", "fchmod", [3, 0o2755], EPERM],
  ["a set-user-id bit by the newest call", "fchmodat2", [-100, 0, 0o4755], EPERM],
  ["making a set-user-id file", "openat", [-100, 0, 0o101, 0o4755], EPERM],
  ["making a nameless set-user-id file", "openat", [-100, 0, 0o20200002, 0o4755], EPERM],
  ["opening with a left-over mode", "openat", [-100, 0, 0, 0o4755], allow],
  ["making a set-user-id node", "mknodat", [-100, 0, 0o104755], EPERM],
  ["sending", "sendto", [3, 0, 1, 0], allow],
  ["sending that connects", "sendto", [3, 0, 1, 0x20000000], EPERM],
  ["sending messages that connect", "sendmsg", [3, 0, 0x20000000], EPERM],
  ["sending many messages that connect", "sendmmsg", [3, 0, 1, 0x20004000], EPERM],
  ["connect under supervision", "connect", [3], notify],
  ["connect without", "connect", [3], allow, { supervise: false }],
  ["listen under supervision", "listen", [3, 16], notify],
  ["listen without", "listen", [3, 16], allow, { supervise: false }],
  ["another's priority, where there are none", "setpriority", [0, 1234, 7], allow],
  ["one's own priority", "setpriority", [0, 0, 7], allow, beside],
  ["another's priority", "setpriority", [0, 1234, 7], EPERM, beside],
  ["a group's priority", "setpriority", [1, 0, 7], EPERM, beside],
  ["a user's priority", "setpriority", [2, 0, 7], EPERM, beside],
  ["one's own priority at disks", "ioprio_set", [1, 0, 3 << 13], allow, beside],
  ["another's priority at disks", "ioprio_set", [1, 1234, 3 << 13], EPERM, beside],
  ["a group's priority at disks", "ioprio_set", [2, 0, 3 << 13], EPERM, beside],
  ["one's own attributes", "sched_setattr", [0], allow, beside],
  ["another's attributes", "sched_setattr", [1234], EPERM, beside],
  ["a policy of one's own", "sched_setscheduler", [0, 5], allow, beside],
  ["the ordinary policy for a thread", "sched_setscheduler", [1234, 0], allow, beside],
  ["another's policy", "sched_setscheduler", [1234, 5], EPERM, beside],
  ["shared memory of one's own", "shmget", [0, 4096, 0o1600], allow],
  ["shared memory of everybody's", "shmget", [0, 4096, 0o1600], ENOSYS, beside],
  ["shared memory by its number", "shmat", [1], ENOSYS, beside],
  ["removing shared memory", "shmctl", [1, 0], ENOSYS, beside],
  ["semaphores", "semop", [1], ENOSYS, beside],
  ["a message to whoever has the queue", "msgsnd", [1], ENOSYS, beside],
  ["a queue of everybody's", "mq_open", [0], ENOSYS, beside],
  ["removing a queue", "mq_unlink", [0], ENOSYS, beside],
  ["a TCP socket", "socket", [2, 1, 0], allow],
  ["a TCP socket that is close-on-exec and non-blocking", "socket", [2, 1 | 0o2004000, 6], allow],
  ["a TCP socket over IPv6", "socket", [10, 1, 6], allow],
  ["a UDP socket", "socket", [2, 2, 0], EPERM],
  ["a raw socket", "socket", [2, 3, 1], EPERM],
  ["an MPTCP socket", "socket", [2, 1, 262], EPROTONOSUPPORT],
  ["an SCTP socket over IPv6", "socket", [10, 1, 132], EPROTONOSUPPORT],
  ["a packet socket", "socket", [17, 3, 0], EAFNOSUPPORT],
  ["a socket to the host", "socket", [40, 1, 0], EAFNOSUPPORT],
  ["the kernel's ciphers", "socket", [38, 5, 0], EAFNOSUPPORT],
  ["a bluetooth socket", "socket", [31, 1, 3], EAFNOSUPPORT],
  ["a TCP socket without a network", "socket", [2, 1, 0], EAFNOSUPPORT, { network: "none" }],
  ["asking for addresses", "socket", [16, 3, 0], allow],
  ["the kernel's audit messages", "socket", [16, 3, 9], EAFNOSUPPORT],
  ["a unix socket", "socket", [1, 1, 0], allow],
  ["a unix socket of whole messages", "socket", [1, 5 | 0o2000000, 0], allow],
  ["a unix datagram socket", "socket", [1, 2, 0], EAFNOSUPPORT],
  ["a unix raw socket, which is a datagram one", "socket", [1, 3, 0], EAFNOSUPPORT],
  ["a unix raw socket that does not block", "socket", [1, 3 | 0o4000, 0], EAFNOSUPPORT],
  ["a unix socket of a type that is not known yet", "socket", [1, 7, 0], EAFNOSUPPORT],
  ["a pair of stream sockets", "socketpair", [1, 1, 0], allow],
  ["a pair of datagram sockets", "socketpair", [1, 2 | 0o2000000, 0], EPERM],
  ["a pair of raw sockets", "socketpair", [1, 3, 0], EPERM],
  ["a pair that keeps messages apart", "socketpair", [1, 5 | 0o2000000, 0], allow],
  ["a pair of another family", "socketpair", [2, 1, 0], EAFNOSUPPORT],
];

const everythingAllowed: FilterOptions = { ...usual, supervise: false };
const narrowings: readonly Partial<FilterOptions>[] = [
  { network: "none" },
  { supervise: true },
  { foreignProcesses: true },
  { foreignIpc: true },
];

function combinations(options: readonly Partial<FilterOptions>[]): Partial<FilterOptions>[] {
  return options.reduce((some, option) => [...some, ...some.map((one) => ({ ...one, ...option }))], [
    {},
  ] as Partial<FilterOptions>[]);
}

for (const arch of ["x64", "arm64"] as const) {
  describe(`the filter for ${arch}`, () => {
    for (const [name, call, args, verdict, options] of rows) {
      const number = syscalls[call][arch === "x64" ? 0 : 1];
      if (number < 0) continue;
      test(`${name}`, () => {
        const filter = seccompFilter(arch, { ...usual, ...options });
        expect(judge(filter, { audit: audits[arch], number, args })).toBe(verdict);
      });
    }

    test("calls of another architecture kill the program", () => {
      const other = arch === "x64" ? 0x40000003 : 0x40000028;
      expect(judge(seccompFilter(arch, usual), { audit: other, number: 1 })).toBe(kill);
    });

    test("no set of options makes a filter that allows more than the widest one", () => {
      const widest = seccompFilter(arch, everythingAllowed);
      const isAllowed = (filter: Uint8Array, call: { number: number; args: number[] }) =>
        judge(filter, { audit: audits[arch], ...call }) === allow;
      for (const narrower of combinations(narrowings)) {
        const filter = seccompFilter(arch, { ...everythingAllowed, ...narrower });
        for (const [, call, args] of rows) {
          const seen = { number: syscalls[call][arch === "x64" ? 0 : 1], args };
          if (isAllowed(filter, seen)) expect(isAllowed(widest, seen)).toBe(true);
        }
      }
    });
  });
}

test("the second set of calls that x86-64 has does not exist", () => {
  const filter = seccompFilter("x64", usual);
  expect(judge(filter, { audit: audits.x64, number: 0x40000000 | 1 })).toBe(ENOSYS);
});

test("the kernel takes programs of this length", () => {
  const mostInstructions = 4096;
  for (const arch of ["x64", "arm64"] as const)
    expect(seccompFilter(arch, usual).length / 8).toBeLessThan(mostInstructions / 4);
});

test("a filter whose jumps are too long is not made", () => {
  const cases = Array.from({ length: 200 }, (_, n) => ({ when: [{ argument: 0, is: n }], verdict: EPERM }));
  expect(() => compileFilter({ audit: 1 }, [{ call: 1, cases, otherwise: allow }])).toThrow("does not fit");
});

const setFilter = 1;

/** Puts a filter on the program itself, and on what it executes. */
function putOn(assembly: Assembly, filter: Uint8Array): void {
  withoutNewPrivileges(assembly);
  assembly.step("seccomp", [setFilter, 0, programOf(assembly, filter)], { must: "seccomp" });
}

function programOf(assembly: Assembly, filter: Uint8Array): number {
  return assembly.words(filter.length / 8, assembly.bytes(filter));
}

/** The filter, put on for real by a program of ours, before it executes a shell. */
function filtered(command: string, options: Partial<FilterOptions> = {}) {
  const filter = seccompFilter(hereArch, { ...usual, supervise: false, ...options });
  return runAfter((assembly) => putOn(assembly, filter), command);
}

/** What the kernel says to one call, as an errno, under a filter or without; 0 when it does it. */
function errnoOf(call: (assembly: Assembly) => void, filter?: Uint8Array): number {
  const { exitCode, output } = runAfter((assembly) => {
    if (filter !== undefined) putOn(assembly, filter);
    const [done, result] = [assembly.label("done"), assembly.variable()];
    call(assembly);
    assembly.save(result);
    assembly.jump("negative", done);
    assembly.step("exit_group", [0]);
    assembly.place(done);
    // The lowest byte of a negative errno.
    assembly.step("exit_group", [result]);
  }, "");
  expect(output).toBe("");
  return exitCode === 0 ? 0 : 256 - exitCode;
}

describe.skipIf(process.platform !== "linux")("under the filter, for real", () => {
  test("ordinary work goes on", () => {
    expect(filtered("echo hello | tr a-z A-Z; mkdir d; touch d/f; chmod 755 d/f; ls d")).toEqual({
      exitCode: 0,
      output: "HELLO\nf\n",
    });
  });

  test("no new namespaces", () => {
    expect(filtered("unshare -Ur true")).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining("not permitted"),
    });
  });

  const nowhere = -1;
  /** Calls that change nothing, since they name no file; the kernel says so unless the filter speaks first. */
  const harmless: [name: string, call: Syscall, args: number[], without: number, under: number][] = [
    ["typing into a terminal", "ioctl", [nowhere, 0x5412, 0], 9, 1],
    ["making a file immutable", "ioctl", [nowhere, 0x40086602, 0], 9, 1],
    ["sealing a file with a hash", "ioctl", [nowhere, 0x40806685, 0], 9, 1],
    ["a subvolume", "ioctl", [nowhere, 0x5000940e, 0], 9, 1],
    ["a copy that shares its blocks", "ioctl", [nowhere, 0x40049409, nowhere], 9, 9],
    ["a lease", "fcntl", [nowhere, 1024, 1], 9, 1],
    ["duplicating a descriptor", "fcntl", [nowhere, 0, 0], 9, 9],
    ["a thread without memory of its own", "clone", [0x10000], 22, 22],
    ["a sibling", "clone", [0x18000], 22, 1],
    ["a supervisor", "seccomp", [1, 8, 0], 14, 1],
    ["a filter", "seccomp", [1, 0, 0], 14, 14],
    ["setting the clock by steps", "adjtimex", [0], 14, 1],
    ["a TCP socket", "socket", [2, 1, 0], 0, 0],
    ["a UDP socket", "socket", [2, 2, 0], 0, 1],
    ["a unix socket", "socket", [1, 1, 0], 0, 0],
    ["a unix socket of whole messages", "socket", [1, 5, 0], 0, 0],
    ["a unix raw socket", "socket", [1, 3, 0], 0, 97],
    ["asking for addresses", "socket", [16, 3, 0], 0, 0],
  ];
  test.each(harmless)("%s", (_name, call, args, without, under) => {
    const step = (assembly: Assembly) => assembly.step(call, args);
    const filter = seccompFilter(hereArch, { ...usual, supervise: false });
    expect([errnoOf(step), errnoOf(step, filter)]).toEqual([without, under]);
  });

  test("a pair of raw sockets, which the kernel makes datagram sockets, is not made", () => {
    const pair = (type: number) => (assembly: Assembly) => assembly.step("socketpair", [1, type, 0, assembly.words(0)]);
    const filter = seccompFilter(hereArch, usual);
    expect([3, 1, 5].map((type) => errnoOf(pair(type)))).toEqual([0, 0, 0]);
    expect([3, 1, 5].map((type) => errnoOf(pair(type), filter))).toEqual([1, 0, 0]);
  });

  test("no second supervisor takes the place of one that is gone", () => {
    // What a command would do: have its own connect() put before itself.
    const newListener = 8;
    const connectAsks = compileFilter({ audit: audits[hereArch] }, [
      { call: syscalls.connect[column], otherwise: notify },
    ]);
    const replacing = (first: Uint8Array) =>
      errnoOf((assembly) => {
        const listener = assembly.variable();
        withoutNewPrivileges(assembly);
        const supervise = programOf(assembly, first);
        assembly.step("seccomp", [setFilter, newListener, supervise], { must: "supervise", into: listener });
        assembly.step("close", [listener], { must: "close" });
        assembly.step("seccomp", [setFilter, newListener, programOf(assembly, connectAsks)]);
      });
    expect(replacing(connectAsks)).toBe(0);
    expect(replacing(seccompFilter(hereArch, usual))).toBe(1);
  });

  test("the kernel itself makes no directory with a set-user-id bit", () => {
    const { output } = runAfter((assembly) => {
      assembly.step("umask", [0]);
      assembly.step("mkdirat", [-100, assembly.text("d"), 0o6755], { must: "mkdirat" });
    }, "stat -c %a d");
    expect(output).toBe("755\n");
  });

  test("no set-user-id files, and the mode stays as it was", () => {
    const command = "touch f; chmod 700 f; chmod u+s f 2>&1; stat -c %a f";
    const { output } = filtered(command);
    expect(output).toContain("not permitted");
    expect(output.trim().split("\n").at(-1)).toBe("700");
  });

  test("the filter is on, and privileges cannot come back", () => {
    const { output } = filtered("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status");
    expect(output.replaceAll("\t", " ")).toBe("NoNewPrivs: 1\nSeccomp: 2\n");
  });
});
