import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arm64 } from "../../lib/sandbox/assembly/arm64.ts";
import { Assembly } from "../../lib/sandbox/assembly/assembly.ts";
import { x64 } from "../../lib/sandbox/assembly/x64.ts";

export const hereArch = process.arch === "arm64" ? "arm64" : "x64";

export type Assembled = { exitCode: number; output: string };

type Options = { cwd?: string; env?: Record<string, string> };

/** Runs a shell command in a program of ours that does the given steps first. */
export function runAfter(steps: (assembly: Assembly) => void, command: string, options: Options = {}): Assembled {
  const assembly = new Assembly(hereArch === "arm64" ? arm64 : x64);
  steps(assembly);
  const { program, argv, environment } = assembly;
  assembly.step("execve", [program, argv, environment], { must: "execve" });
  return runFile(assembly.finish(), ["/bin/sh", "-c", command], options);
}

function runFile(bytes: Uint8Array, argv: readonly string[], { cwd, env = {} }: Options): Assembled {
  const directory = mkdtempSync(join(tmpdir(), "koda-assembled-"));
  try {
    const file = join(directory, "program");
    writeFileSync(file, bytes);
    chmodSync(file, 0o755);
    const { exitCode, stdout, stderr } = Bun.spawnSync([file, ...argv], {
      cwd: cwd ?? directory,
      env: { PATH: process.env.PATH ?? "", ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    return { exitCode, output: `${stdout.toString()}${stderr.toString()}` };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Without this the kernel lets only root restrict itself. */
export function withoutNewPrivileges(assembly: Assembly): void {
  assembly.step("prctl", [38, 1, 0, 0, 0], { must: "no_new_privs" });
}
