import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arm64 } from "../../../lib/sandbox/assembly/arm64.ts";
import { Assembly } from "../../../lib/sandbox/assembly/assembly.ts";
import type { Processor } from "../../../lib/sandbox/assembly/processor.ts";
import { x64 } from "../../../lib/sandbox/assembly/x64.ts";
import { canRead, disassemble, recordingOf } from "../../support/record-disassembly.ts";

/** Programs are run for real: on this processor, and on the other one where qemu can stand in for it. */
type Machine = { name: string; processor: Processor; runner: readonly string[] | undefined };

const here = process.arch === "arm64" ? "arm64" : "x64";
const emulator = { x64: "qemu-x86_64", arm64: "qemu-aarch64" };
const machines: Machine[] = [
  { name: "x64", processor: x64, runner: runnerOf("x64") },
  { name: "arm64", processor: arm64, runner: runnerOf("arm64") },
];

function runnerOf(arch: "x64" | "arm64"): readonly string[] | undefined {
  if (process.platform !== "linux") return undefined;
  if (arch === here) return [];
  const path = Bun.which(emulator[arch]) ?? Bun.which(`${emulator[arch]}-static`);
  return path === null ? undefined : [path];
}

function run(assembly: Assembly, runner: readonly string[], args: string[] = [], env: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "koda-assembly-"));
  const file = join(directory, "program");
  try {
    writeFileSync(file, assembly.finish());
    chmodSync(file, 0o755);
    const { exitCode, stdout, stderr } = Bun.spawnSync([...runner, file, ...args], {
      env,
      stdout: "pipe",
      stderr: "pipe",
    });
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

for (const { name, processor, runner = [], runner: available } of machines) {
  describe.skipIf(available === undefined)(`on ${name}`, () => {
    const begin = () => new Assembly(processor);
    const exit = (assembly: Assembly, code: number) => assembly.step("exit_group", [code]);
    const killItself = (assembly: Assembly) => {
      const self = assembly.variable();
      assembly.step("getpid", [], { into: self });
      assembly.step("kill", [self, 15]);
    };
    const say = (assembly: Assembly, text: string) =>
      assembly.step("write", [1, assembly.text(text), Buffer.byteLength(text)]);

    test("a program says what it has to say and exits", () => {
      const assembly = begin();
      say(assembly, "hello\n");
      exit(assembly, 7);
      expect(run(assembly, runner)).toEqual({ exitCode: 7, stdout: "hello\n", stderr: "" });
    });

    test("a step that fails is named with its errno, and the program exits 126", () => {
      const assembly = begin();
      assembly.step("openat", [-100, assembly.text("/nowhere/at/all"), 0, 0], { must: "open the thing" });
      exit(assembly, 0);
      expect(run(assembly, runner)).toEqual({
        exitCode: 126,
        stdout: "",
        stderr: "koda sandbox: open the thing failed, errno 002\n",
      });
    });

    test("an errno of three digits is whole", () => {
      const assembly = begin();
      // Address family not supported.
      assembly.step("socket", [99, 1, 0], { must: "socket" });
      expect(run(assembly, runner).stderr).toBe("koda sandbox: socket failed, errno 097\n");
    });

    test("a step that may fail goes on elsewhere", () => {
      const assembly = begin();
      const missing = assembly.label("missing");
      assembly.step("openat", [-100, assembly.text("/nowhere/at/all"), 0, 0], { onError: missing });
      exit(assembly, 1);
      assembly.place(missing);
      exit(assembly, 2);
      expect(run(assembly, runner).exitCode).toBe(2);
    });

    test("results are kept in variables and used by later steps", () => {
      const assembly = begin();
      const file = assembly.variable();
      assembly.step("openat", [-100, assembly.text("/dev/null"), 1, 0], { must: "open", into: file });
      assembly.step("write", [file, assembly.text("x"), 1], { must: "write" });
      assembly.step("exit_group", [file]);
      expect(run(assembly, runner).exitCode).toBe(3);
    });

    test("arguments and environment pass through to what is executed", () => {
      const assembly = begin();
      const { program, argv, environment } = assembly;
      assembly.step("execve", [program, argv, environment], { must: "execve" });
      const shell = ["/bin/sh", "-c", 'echo "$1 $2 $FROM"', "sh", "one", "two words"];
      expect(run(assembly, runner, shell, { FROM: "here" })).toMatchObject({
        exitCode: 0,
        stdout: "one two words here\n",
      });
    });

    test("a program that cannot be executed says so", () => {
      const assembly = begin();
      assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve" });
      expect(run(assembly, runner, ["/nowhere/sh"])).toMatchObject({
        exitCode: 126,
        stderr: "koda sandbox: execve failed, errno 002\n",
      });
    });

    test("jumps are taken by the result, forwards and back, near and far", () => {
      const assembly = begin();
      const [first, loop, out] = [assembly.variable(), assembly.label("loop"), assembly.label("out")];
      assembly.step("getpid", [], { into: first });
      assembly.place(loop);
      assembly.step("getpid");
      assembly.jump({ equals: first }, out);
      assembly.jump("always", loop);
      // Farther than a short jump reaches on either processor.
      for (let n = 0; n < 2000; n++) say(assembly, "");
      assembly.place(out);
      exit(assembly, 9);
      expect(run(assembly, runner).exitCode).toBe(9);
    });

    const statuses: [name: string, status: number, exit: number][] = [
      ["an exit code", 42 << 8, 42],
      ["the largest exit code", 255 << 8, 255],
      ["success", 0, 0],
      ["a signal", 9, 137],
      ["a signal with a core dump", 0x80 | 11, 139],
    ];
    for (const [name, status, expected] of statuses)
      test(`a status passes on: ${name}`, () => {
        const assembly = begin();
        const variable = assembly.variable();
        assembly.take(status);
        assembly.save(variable);
        assembly.exitLike(variable);
        expect(run(assembly, runner).exitCode).toBe(expected);
      });

    test("a step that fails in one particular way goes its own way, and only then", () => {
      const [EINVAL, ENOENT] = [22, 2];
      const assembly = begin();
      const [invalid, missing] = [assembly.label("invalid"), assembly.label("missing")];
      const open = [-100, assembly.text("/nowhere/at/all"), 0, 0];
      assembly.step("openat", open, { onErrno: { errno: [EINVAL], to: invalid }, onError: missing });
      exit(assembly, 1);
      assembly.place(invalid);
      exit(assembly, 2);
      assembly.place(missing);
      assembly.step("getpid", [], { onErrno: { errno: [ENOENT], to: invalid } });
      const tolerated = assembly.label("tolerated");
      assembly.step("openat", open, { onErrno: { errno: [ENOENT], to: tolerated }, must: "open" });
      exit(assembly, 3);
      assembly.place(tolerated);
      exit(assembly, 4);
      expect(run(assembly, runner)).toEqual({ exitCode: 4, stdout: "", stderr: "" });
    });

    test("what the kernel leaves in data is used, in whole and by halves", () => {
      const assembly = begin();
      const pipe = assembly.words(0);
      assembly.step("pipe2", [pipe, 0], { must: "pipe2" });
      const [reader, writer] = [{ half: pipe }, { half: pipe + 4 }];
      assembly.step("write", [writer, assembly.words(0x2a_0000_002an), 8], { must: "write" });
      const [got, expected] = [assembly.variable(), assembly.variable()];
      assembly.step("read", [reader, got.address, 8], { must: "read" });
      assembly.take(0x2a_0000_002an);
      assembly.save(expected);
      const same = assembly.label("same");
      assembly.take(got);
      assembly.jump({ equals: expected }, same);
      exit(assembly, 1);
      assembly.place(same);
      assembly.step("exit_group", [{ half: got.address + 4 }]);
      expect(run(assembly, runner)).toEqual({ exitCode: 42, stdout: "", stderr: "" });
    });

    test.each([
      ["exit code", 5, (assembly: Assembly) => exit(assembly, 5)],
      ["signal", 128 + 15, killItself],
    ] as const)("a process is started, waited for and its %s passed on", (_, expected, end) => {
      const SIGCHLD = 17;
      const assembly = begin();
      const [child, status] = [assembly.variable(), assembly.variable()];
      const parent = assembly.label("parent");
      assembly.step("clone", [SIGCHLD, 0, 0, 0, 0], { must: "clone", into: child });
      assembly.jump("nonzero", parent);
      end(assembly);
      assembly.place(parent);
      assembly.step("wait4", [child, status.address, 0, 0], { must: "wait4" });
      assembly.exitLike(status);
      expect(run(assembly, runner).exitCode).toBe(expected);
    });

    test("large numbers reach the kernel whole", () => {
      const assembly = begin();
      // An address in the kernel's half: with fewer bits it would be another one, or none.
      assembly.step("write", [1, 0xffff_ffff_ffff_f000n, 1], { must: "write from nowhere" });
      expect(run(assembly, runner).stderr).toBe("koda sandbox: write from nowhere failed, errno 014\n");
    });
  });
}

describe("the encodings, checked against the processors' manuals", () => {
  const hex = (bytes: readonly number[]) => Buffer.from(bytes).toString("hex");
  const rows: [instruction: string, bytes: readonly number[], expected: string][] = [
    ["x64: mov rdi, 1", x64.constant(0, 1n), "48c7c701000000"],
    ["x64: mov r10, 1", x64.constant(3, 1n), "49c7c201000000"],
    ["x64: mov rsi, 0xffffffffffffff9c", x64.constant(1, 0xffff_ffff_ffff_ff9cn), "48be9cffffffffffffff"],
    ["x64: mov r8, [0x20000000]", x64.load(4, 0x20000000, 8), "4c8b042500000020"],
    ["x64: mov rax, [0x20000008]", x64.load("result", 0x20000008, 8), "488b042508000020"],
    ["x64: mov edi, [0x20000008]", x64.load(0, 0x20000008, 4), "8b3c2508000020"],
    ["x64: mov r10d, [0x20000008]", x64.load(3, 0x20000008, 4), "448b142508000020"],
    ["x64: cmp rax, -22; je", x64.branch({ is: -22 }).code, "483deaffffff0f8400000000"],
    ["x64: mov [0x20000000], rax", x64.store(0x20000000, 8), "4889042500000020"],
    ["x64: mov [0x20000000], eax", x64.store(0x20000000, 4), "89042500000020"],
    ["x64: syscall", x64.call(), "0f05"],
    ["x64: test rax, rax; js", x64.branch("negative").code, "4885c00f8800000000"],
    ["arm64: mov x0, #1", arm64.constant(0, 1n), "200080d2"],
    ["arm64: mov x8, #64", arm64.constant("number", 64n), "080880d2"],
    ["arm64: mov x1, #0", arm64.constant(1, 0n), "010080d2"],
    ["arm64: movz x16, #0x2000, lsl #16; ldr x2, [x16]", arm64.load(2, 0x20000000, 8), "1000a4d2020240f9"],
    ["arm64: movz x16, #0x2000, lsl #16; str x0, [x16]", arm64.store(0x20000000, 8), "1000a4d2000200f9"],
    ["arm64: svc #0", arm64.call(), "010000d4"],
    ["arm64: tbz x0, #63, +8; b", arm64.branch("negative").code, "4000f8b600000014"],
    ["arm64: add x0, x0, #128", arm64.add(128), "00000291"],
  ];
  test.each(rows)("%s", (_instruction, bytes, expected) => expect(hex(bytes)).toBe(expected));
});

for (const arch of ["x64", "arm64"] as const)
  test.skipIf(!canRead(arch))(`objdump reads the ${arch} program as it was meant`, () => {
    expect(disassemble(arch)).toBe(readFileSync(recordingOf(arch), "utf8"));
  });

test("a label that is placed twice or never is a mistake of the writer", () => {
  const twice = new Assembly(x64);
  const label = twice.label("here");
  twice.place(label);
  expect(() => twice.place(label)).toThrow('"here" is placed twice');

  const never = new Assembly(x64);
  never.jump("always", never.label("nowhere"));
  expect(() => never.finish()).toThrow('"nowhere" is jumped to and never placed');
});

test("the same steps make the same bytes", () => {
  const make = () => {
    const assembly = new Assembly(x64);
    assembly.step("getpid", [], { must: "getpid" });
    return assembly.finish();
  };
  expect(make()).toEqual(make());
});
