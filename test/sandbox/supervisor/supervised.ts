import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arm64 } from "../../../lib/sandbox/assembly/arm64.ts";
import { Assembly } from "../../../lib/sandbox/assembly/assembly.ts";
import { type Syscall, syscalls } from "../../../lib/sandbox/assembly/syscalls.ts";
import { x64 } from "../../../lib/sandbox/assembly/x64.ts";
import { compileFilter, notify } from "../../../lib/sandbox/filter/bpf.ts";
import { type FilterOptions, seccompFilter } from "../../../lib/sandbox/filter/seccomp.ts";
import type { ConnectRules, Refusal } from "../../../lib/sandbox/supervisor/rules.ts";
import { Supervisor } from "../../../lib/sandbox/supervisor/supervisor.ts";
import { hereArch, withoutNewPrivileges } from "../../support/assembled.ts";

/** The system's own rather than one that only its owner may run. */
export const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : (Bun.which("python3") ?? "python3");

export type Ended = { exitCode: number | null; output: string };

export type Supervised = AsyncDisposable & {
  /** A directory of the test's own, and one beside it that is not the commands' business. */
  inside: string;
  outside: string;
  refusals: Refusal[];
  supervisor: Supervisor;
  /** The rules of commands that have no others. */
  rules: ConnectRules;
  /** Starts a Python program under supervision, in `inside`. */
  start(program: string, options?: StartOptions): Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** Runs one to its end. */
  run(program: string, options?: StartOptions): Promise<Ended>;
};

type StartOptions = { filter?: FilterName; rules?: ConnectRules };

type Directories = Pick<Supervised, "inside" | "outside">;

/** Commands whose connect() is answered by a supervisor; by default sockets in `inside` may be connected to. */
export async function supervised(rulesFor: (directories: Directories) => Partial<ConnectRules>): Promise<Supervised> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "koda-supervised-")));
  const [inside, outside] = [join(base, "inside"), join(base, "outside")];
  for (const directory of [inside, outside]) mkdirSync(directory);
  const refusals: Refusal[] = [];
  const none: ConnectRules = { sockets: [inside], except: [], names: [], tcp: [], abstract: false };
  const usual = { ...none, ...rulesFor({ inside, outside }) };
  const supervisor = new Supervisor((refusal) => refusals.push(refusal));
  const running = new Set<Bun.Subprocess>();

  const start: Supervised["start"] = (program, { filter = "whole", rules = usual } = {}) => {
    const child = Bun.spawn([programFile(base, filter), python, "-c", `${prelude}\n${program}`], {
      cwd: inside,
      env: { PATH: process.env.PATH ?? "", OUTSIDE: outside, INSIDE: inside },
      stdio: ["ignore", "pipe", "pipe", supervisor.socketFor(rules)],
    });
    running.add(child);
    return child;
  };
  return {
    inside,
    outside,
    refusals,
    supervisor,
    rules: usual,
    start,
    async run(program, options) {
      const child = start(program, options);
      const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return { exitCode, output: `${stdout}${stderr}`.trim() };
    },
    async [Symbol.asyncDispose]() {
      for (const child of running) child.kill("SIGKILL");
      await Promise.all([...running].map((child) => child.exited));
      supervisor[Symbol.dispose]();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** What the programs below have at hand: each way to connect tells how it went, or what the other side said. */
const prelude = `
import array, asyncio, ctypes, errno, os, select, signal, socket, sys, threading, time
INSIDE, OUTSIDE = os.environ["INSIDE"], os.environ["OUTSIDE"]
def attempt(s, address):
    try:
        s.connect(address)
    except OSError as error:
        return errno.errorcode[error.errno]
    return (s.recv(64).decode() or "silence")
def unix(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        return attempt(s, path)
def tcp(host, port, family=socket.AF_INET):
    with socket.socket(family) as s:
        return attempt(s, (host, port))
`;

/** As a command's program is: it installs the filter, sends the listener away and becomes the command. */
function programFile(directory: string, filter: FilterName): string {
  const file = join(directory, `program-${filter}`);
  const assembly = new Assembly(hereArch === "arm64" ? arm64 : x64);
  withoutNewPrivileges(assembly);
  superviseConnect(assembly, filters[filter]);
  assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve" });
  if (!written.has(file)) {
    writeFileSync(file, assembly.finish());
    chmodSync(file, 0o755);
    written.add(file);
  }
  return file;
}

/** Writing a program that runs is refused: each is written once. */
const written = new Set<string>();

/** That of the tiers, and one that refuses nothing by itself. */
type FilterName = "whole" | "asking";

const numberOf = (call: Syscall) => syscalls[call][hereArch === "x64" ? 0 : 1];
const usual: FilterOptions = {
  network: "tcp",
  supervise: true,
  foreignProcesses: false,
  foreignIpc: false,
};
const filters: Record<FilterName, Uint8Array> = {
  whole: seccompFilter(hereArch, usual),
  asking: compileFilter({ audit: hereArch === "x64" ? 0xc000003e : 0xc00000b7 }, [
    { call: numberOf("connect"), otherwise: notify },
    { call: numberOf("listen"), otherwise: notify },
  ]),
};

const [setFilter, newListener, waitUnlessKilled] = [1, 8, 32] as const;
const socketAt = 3;

export function superviseConnect(assembly: Assembly, filter: Uint8Array): void {
  const program = assembly.words(filter.length / 8, assembly.bytes(filter));
  // struct cmsghdr {u64 length; i32 SOL_SOCKET; i32 SCM_RIGHTS} and one descriptor.
  const control = assembly.words(20n, (1n << 32n) | 1n, 0n);
  const part = assembly.words(assembly.text("listener"), 8);
  const message = assembly.words(0, 0, part, 1, control, 24, 0);
  const listener = assembly.variable();
  assembly.step("seccomp", [setFilter, newListener | waitUnlessKilled, program], { must: "seccomp", into: listener });
  assembly.copy32(listener, control + 16);
  assembly.step("sendmsg", [socketAt, message, 0], { must: "sending the listener" });
  assembly.step("close", [listener]);
  assembly.step("close", [socketAt]);
}

/** A server that says who it is to whoever connects, and hangs up. */
export function greeter(where: { unix: string } | { hostname: string; port: number }, greeting: string) {
  const socket = { open: (peer: Bun.Socket) => void peer.end(greeting), data() {} };
  const server = "unix" in where ? Bun.listen({ ...where, socket }) : Bun.listen({ ...where, socket });
  return { port: "port" in server ? Number(server.port) : 0, [Symbol.dispose]: () => server.stop(true) };
}
