import { existsSync } from "node:fs";
import { muslLoader } from "./muslcxx.ts";

/**
 * The Debian packages that some tests need, installed when they are missing and can be had. What cannot be installed is
 * said, and the tests that need it say that they are skipped.
 */
const needed = [
  { program: "bwrap", package: "bubblewrap" },
  { program: "qemu-aarch64", package: "qemu-user" },
  { program: "x86_64-linux-gnu-objdump", package: "binutils-x86-64-linux-gnu" },
  { program: "aarch64-linux-gnu-objdump", package: "binutils-aarch64-linux-gnu" },
  { program: "squid", package: "squid" },
  { program: "tinyproxy", package: "tinyproxy-bin" },
  { program: "microsocks", package: "microsocks" },
  { program: "danted", package: "dante-server" },
  { program: "fish", package: "fish" },
  { program: "zsh", package: "zsh" },
  { program: "xz", package: "xz-utils" },
  { program: "busybox", package: "busybox" },
  { program: "minisign", package: "minisign" },
  { program: "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", package: "libc6-arm64-cross" },
  { program: muslLoader, package: "musl" },
  { program: "/usr/lib/gcc/x86_64-linux-gnu/12/libstdc++_pic.a", package: "libstdc++-12-pic" },
  { program: "jq", package: "jq" },
  { program: "/usr/lib/postgresql", package: "postgresql" },
  { program: "shellcheck", package: "shellcheck" },
  { program: "ip", package: "iproute2" },
] as const;

export function installPackages(): void {
  const names = needed.flatMap((each) => (isThere(each.program) ? [] : each.package));
  if (names.length === 0) return;
  const problem = install(names);
  if (problem === undefined) return;
  // One that this system does not have keeps out the others.
  const unknown = names.filter((name) => !isKnown(name));
  const known = names.filter(isKnown);
  const rest = unknown.length > 0 && known.length > 0 ? install(known) : problem;
  const missing = rest === undefined ? unknown : names;
  console.error(`skipped: tests that need ${missing.join(", ")}: ${problem}`);
}

function isKnown(name: string): boolean {
  return (
    Bun.which("apt-cache") !== null &&
    Bun.spawnSync(["apt-cache", "show", name], { stdout: "ignore", stderr: "ignore" }).success
  );
}

function isThere(program: string): boolean {
  return program.startsWith("/") ? existsSync(program) : Bun.which(program) !== null;
}

/** What kept the packages from being installed. */
function install(names: readonly string[]): string | undefined {
  if (process.platform !== "linux" || Bun.which("apt-get") === null) return "there is no apt-get here";
  if (process.getuid?.() !== 0) return "only root can install packages";
  // A new machine has no lists of packages yet, or old ones.
  if (apt("install", "--no-install-recommends", ...names) === undefined) return undefined;
  return apt("update") ?? apt("install", "--no-install-recommends", ...names);
}

function apt(...args: string[]): string | undefined {
  const { exitCode, stderr } = Bun.spawnSync(["apt-get", "-y", "-q", ...args], {
    // At this runlevel no service is started: a test starts what it needs, on loopback.
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    timeout: 300_000,
  });
  if (exitCode === 0) return undefined;
  return `apt-get ${args[0]} failed: ${stderr.toString().trim().split("\n").at(-1) ?? `exit ${exitCode}`}`;
}
