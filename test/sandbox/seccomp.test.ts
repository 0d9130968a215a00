import { describe, expect, test } from "bun:test";
import { allow, compileFilter, kill, notify, refuse } from "../../lib/sandbox/bpf.ts";
import { type FilterOptions, seccompFilter } from "../../lib/sandbox/seccomp.ts";
import { type Syscall, syscalls } from "../../lib/sandbox/syscalls.ts";
import { hereArch, runAfter, withoutNewPrivileges } from "../support/assembled.ts";
import { judge } from "../support/bpf.ts";

const usual: FilterOptions = { network: "tcp", unixSockets: true, superviseConnect: true };
const [EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT] = [refuse(1), refuse(38), refuse(97), refuse(93)];
const audits = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

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
  ["unshare of descriptors", "unshare", [0x400], allow],
  ["unshare of the mount namespace", "unshare", [0x20000], EPERM],
  ["unshare of the time namespace", "unshare", [0x80], EPERM],
  ["one's own limits", "prlimit64", [0], allow],
  ["another's limits", "prlimit64", [1234], EPERM],
  ["the size of a terminal", "ioctl", [0, 0x5413], allow],
  ["typing into a terminal", "ioctl", [0, 0x5412], EPERM],
  ["controlling the console", "ioctl", [0, 0x541c], EPERM],
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
  ["connect without", "connect", [3], allow, { superviseConnect: false }],
  ["a TCP socket", "socket", [2, 1, 0], allow],
  ["a TCP socket that is close-on-exec and non-blocking", "socket", [2, 1 | 0o2004000, 6], allow],
  ["a TCP socket over IPv6", "socket", [10, 1, 6], allow],
  ["a UDP socket", "socket", [2, 2, 0], EPERM],
  ["a raw socket", "socket", [2, 3, 1], EPERM],
  ["an MPTCP socket", "socket", [2, 1, 262], EPROTONOSUPPORT],
  ["an SCTP socket over IPv6", "socket", [10, 1, 132], EPROTONOSUPPORT],
  ["a packet socket", "socket", [17, 3, 0], EAFNOSUPPORT],
  ["a socket to the host", "socket", [40, 1, 0], EAFNOSUPPORT],
  ["a TCP socket without a network", "socket", [2, 1, 0], EAFNOSUPPORT, { network: "none" }],
  ["asking for addresses", "socket", [16, 3, 0], allow],
  ["the kernel's audit messages", "socket", [16, 3, 9], EAFNOSUPPORT],
  ["a unix socket", "socket", [1, 1, 0], allow],
  ["a unix datagram socket", "socket", [1, 2, 0], EAFNOSUPPORT],
  ["a unix socket where they are closed", "socket", [1, 1, 0], EAFNOSUPPORT, { unixSockets: false }],
  ["a pair of stream sockets", "socketpair", [1, 1, 0], allow],
  ["a pair of datagram sockets", "socketpair", [1, 2 | 0o2000000, 0], EPERM],
  ["a pair of another family", "socketpair", [2, 1, 0], EAFNOSUPPORT],
];

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
      const widest = seccompFilter(arch, { network: "tcp", unixSockets: true, superviseConnect: false });
      const isAllowed = (filter: Uint8Array, call: { number: number; args: number[] }) =>
        judge(filter, { audit: audits[arch], ...call }) === allow;
      for (const network of ["tcp", "none"] as const)
        for (const unixSockets of [true, false])
          for (const superviseConnect of [true, false]) {
            const filter = seccompFilter(arch, { network, unixSockets, superviseConnect });
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

test("a filter whose jumps are too long is not made", () => {
  const cases = Array.from({ length: 200 }, (_, n) => ({ when: [{ argument: 0, is: n }], verdict: EPERM }));
  expect(() => compileFilter({ audit: 1 }, [{ call: 1, cases, otherwise: allow }])).toThrow("does not fit");
});

/** The same filter, put on for real by a program of ours, before it executes a shell. */
function filtered(command: string, options: Partial<FilterOptions> = {}) {
  const filter = seccompFilter(hereArch, { ...usual, superviseConnect: false, ...options });
  const setFilter = 1;
  return runAfter((assembly) => {
    withoutNewPrivileges(assembly);
    const program = assembly.words(filter.length / 8, assembly.bytes(filter));
    assembly.step("seccomp", [setFilter, 0, program], { must: "seccomp" });
  }, command);
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
