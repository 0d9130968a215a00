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
] as const;

export function installPackages(): void {
  const missing = needed.filter(({ program }) => Bun.which(program) === null);
  if (missing.length === 0) return;
  const names = missing.map((each) => each.package);
  const problem = install(names);
  if (problem !== undefined) console.error(`skipped: tests that need ${names.join(", ")}: ${problem}`);
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
