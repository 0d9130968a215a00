/**
 * `bun test/support/record-disassembly.ts`: writes down how objdump reads a program that uses every instruction of the
 * assembler. Whoever changes an encoding records it anew, and reads what has become of it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arm64 } from "../../lib/sandbox/assembly/arm64.ts";
import { Assembly } from "../../lib/sandbox/assembly/assembly.ts";
import { codeAddress } from "../../lib/sandbox/assembly/elf.ts";
import { x64 } from "../../lib/sandbox/assembly/x64.ts";

export type Arch = "x64" | "arm64";
export const recordingOf = (arch: Arch) => `test/recordings/assembly.${arch}.txt`;

const processors = { x64, arm64 };
const readers = {
  x64: ["x86_64-linux-gnu-objdump", "-m", "i386:x86-64", "-M", "intel"],
  arm64: ["aarch64-linux-gnu-objdump", "-m", "aarch64"],
} as const;

export function canRead(arch: Arch): boolean {
  return Bun.which(readers[arch][0]) !== null;
}

/** Opens a file and reads of it, starts a process, waits for it and ends as it did. */
function sample(arch: Arch): Uint8Array {
  const assembly = new Assembly(processors[arch]);
  const [file, child, status] = [assembly.variable(), assembly.variable(), assembly.variable()];
  const [again, missing, parent] = [assembly.label("again"), assembly.label("missing"), assembly.label("parent")];
  const [EINTR, SIGCHLD] = [4, 17];

  const path = assembly.text("/etc/hostname");
  const descriptor = assembly.words(0);
  const options = { must: "open", into: file, into32: descriptor };
  assembly.step("openat", [-100, path, 0o2000000, 0], { onError: missing, ...options });
  assembly.place(again);
  assembly.step("read", [file, assembly.words(0), 8], { onErrno: { errno: [EINTR], to: again } });
  assembly.jump("zero", missing);
  assembly.copy32(file, descriptor + 4);
  assembly.step("mount_setattr", [{ half: descriptor }, 0xffff_8000_0000_0001n, 2, { half: descriptor + 4 }, 4, 5]);
  assembly.step("clone", [SIGCHLD], { into: child });
  assembly.jump("nonzero", parent);
  assembly.step("execve", [assembly.program, assembly.argv, assembly.environment], { must: "execve" });
  assembly.place(parent);
  assembly.step("wait4", [-1, status.address, 0, 0]);
  assembly.jump({ equals: child }, missing);
  assembly.jump("always", parent);
  assembly.place(missing);
  assembly.exitLike(status);
  return assembly.finish();
}

/** The instructions of the sample, without what differs between versions of objdump. */
export function disassemble(arch: Arch): string {
  const directory = mkdtempSync(join(tmpdir(), "koda-disassembly-"));
  try {
    const file = join(directory, "code");
    writeFileSync(file, codeOf(sample(arch)));
    const options = ["-D", "-b", "binary", `--adjust-vma=${codeAddress}`, "--no-show-raw-insn", file];
    const { exitCode, stdout, stderr } = Bun.spawnSync([...readers[arch], ...options], { stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`objdump failed: ${stderr.toString()}`);
    return normalized(stdout.toString());
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The program's first segment: from its header in the file, where the kernel would find it. */
function codeOf(program: Uint8Array): Uint8Array {
  const view = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const firstHeader = Number(view.getBigUint64(32, true));
  const offset = Number(view.getBigUint64(firstHeader + 8, true));
  const size = Number(view.getBigUint64(firstHeader + 32, true));
  return program.subarray(offset, offset + size);
}

/** Instructions begin with their address; what follows `//` or `<` is objdump's own remark. */
function normalized(listing: string): string {
  const instructions = listing.split("\n").filter((line) => /^ *[0-9a-f]+:/.test(line));
  return instructions
    .map(
      (line) =>
        `${line
          .replace(/\s*(\/\/|<).*$/, "")
          .trim()
          .replace(/\s+/g, " ")}\n`,
    )
    .join("");
}

if (import.meta.main) {
  for (const arch of ["x64", "arm64"] as const) writeFileSync(recordingOf(arch), disassemble(arch));
}
