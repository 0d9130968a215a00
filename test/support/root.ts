import type { Place } from "./place.ts";
import { type Ran, runIn } from "./run.ts";

/** The names that this machine's C library has on Debian. */
export const glibc =
  process.arch === "arm64"
    ? { libraries: "/lib/aarch64-linux-gnu", loader: "/lib/ld-linux-aarch64.so.1" }
    : { libraries: "/lib/x86_64-linux-gnu", loader: "/lib64/ld-linux-x86-64.so.2" };

/** A file or directory of the host, by its path in the root. */
export type Bind = { from: string; to: string };

/** Why there can be no other root here. */
export function whyNoRoot(): string | undefined {
  if (Bun.which("bwrap") === null) return "there is no bwrap";
  return Bun.spawnSync(["bwrap", "--ro-bind", "/", "/", "true"]).success
    ? undefined
    : "bwrap may not make namespaces here";
}

/**
 * Runs a program in a root of its own, which has the host's programs, the place, and in /lib only what they and `binds`
 * put there: other C libraries are found where systems that use them have them.
 */
export function runInRoot(place: Place, binds: readonly Bind[], argv: readonly string[]): Promise<Ran> {
  const links = [
    ["usr/bin", "/bin"],
    ["usr/lib64", "/lib64"],
    [`/usr${glibc.libraries}`, glibc.libraries],
  ];
  const { HOME = "", TMPDIR = "" } = place.env;
  const env = { HOME, TMPDIR, PATH: "/usr/bin" };
  const mounts = ["--ro-bind", "/usr", "/usr", "--dir", "/lib", "--dir", "/etc", "--proc", "/proc", "--dev", "/dev"];
  const options = [
    ...mounts,
    ...links.flatMap(([to = "", path = ""]) => ["--symlink", to, path]),
    ...binds.flatMap(({ from, to }) => ["--ro-bind", from, to]),
    ...[place.home, place.project, TMPDIR].flatMap((path) => ["--bind", path, path]),
    "--chdir",
    place.project,
    "--clearenv",
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
  return runIn(place, ["bwrap", ...options, ...argv]);
}
