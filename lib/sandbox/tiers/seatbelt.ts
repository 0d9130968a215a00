import { KodaError } from "../../errors.ts";
import { isBelow } from "../../files/path.ts";
import type { Policy } from "../policy/policy.ts";

export type SeatbeltOptions = {
  /** Where koda's proxies listen on this machine: the only places that may be connected to, whatever the policy opens. */
  proxyPorts: readonly number[];
};

/** What `sandbox-exec -p` is given on macOS. Where several rules fit, the last one decides. */
export function seatbeltProfile(policy: Policy, { proxyPorts }: SeatbeltOptions): string {
  const rules = [
    ...base,
    "(allow file-read*)",
    ...policy.write.map((root) => `(allow file-write* ${subpath(root)})`),
    ...devices,
    ...hiding(policy),
    ...protecting(policy),
    // A root run could leave a program behind that makes its caller root.
    "(deny file-write-setugid)",
    ...(policy.network === "none" ? [] : proxyPorts.map(connecting)),
  ];
  return `${rules.join("\n")}\n`;
}

/** Of the system only what says how it is made; not the arguments and environments of other processes. */
const factsBelow = ["hw.", "machdep.cpu.", "kern.os", "kern.proc.pid.", "vm."];
const facts = [
  ...(["kern.argmax", "kern.boottime", "kern.clockrate", "kern.hostname", "kern.maxfiles"] as const),
  ...(["kern.maxfilesperproc", "kern.maxproc", "kern.ngroups", "kern.secure_kernel", "kern.usrstack64"] as const),
  ...(["kern.version", "sysctl.proc_cputype"] as const),
];
const readableFacts = [
  ...factsBelow.map((name) => `(sysctl-name-prefix "${name}")`),
  ...facts.map((name) => `(sysctl-name "${name}")`),
];

/** Who the users are, where their temporary files go, and what the system says of itself. None of them starts programs. */
const services = [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.bsd.dirhelper",
  "com.apple.system.logger",
  "com.apple.system.notification_center",
];

const base = [
  "(version 1)",
  "(deny default)",
  "(allow process-exec)",
  "(allow process-fork)",
  "(allow file-map-executable)",
  "(allow signal (target same-sandbox))",
  "(allow process-info* (target same-sandbox))",
  "(allow ipc-posix-sem)",
  "(allow pseudo-tty)",
  `(allow sysctl-read ${readableFacts.join(" ")})`,
  `(allow mach-lookup ${services.map((name) => `(global-name "${name}")`).join(" ")})`,
];

const streams = ["null", "zero", "tty", "stdin", "stdout", "stderr"].map((name) => literal(`/dev/${name}`));
const sources = ["random", "urandom", "autofs_nowait", "dtracehelper"].map((name) => literal(`/dev/${name}`));
const ownTerminals = '(require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))';

/** Not disks, and of the terminals only those that a command has made itself. */
const devices = [
  '(deny file-read* file-write* (subpath "/dev"))',
  `(allow file-read-metadata (subpath "/dev"))`,
  `(allow file-read* ${literal("/dev")} ${subpath("/dev/fd")} ${[...streams, ...sources].join(" ")})`,
  `(allow file-write* ${subpath("/dev/fd")} ${streams.join(" ")})`,
  `(allow file-read* file-write* file-ioctl ${literal("/dev/ptmx")} ${ownTerminals})`,
];

/** The deeper path decides; of a path that is both hidden and shown, that it is shown. */
function hiding({ hide, show, write }: Policy): string[] {
  const rules = [
    ...hide.map((path) => ({ path, rules: [`(deny file* ${subpath(path)})`] })),
    ...show.map((path) => ({ path, rules: showing(path, write) })),
  ];
  return rules.toSorted((a, b) => depth(a.path) - depth(b.path)).flatMap((each) => each.rules);
}

function showing(path: string, write: readonly string[]): string[] {
  const written = write.flatMap((root) => (isBelow(path, root) ? [path] : isBelow(root, path) ? [root] : []));
  return [
    `(allow file-read* ${subpath(path)})`,
    // Whoever looks up where a path leads asks about each directory on the way.
    ...above(path).map((directory) => `(allow file-read-metadata ${literal(directory)})`),
    ...written.map((each) => `(allow file-write* ${subpath(each)})`),
  ];
}

/** What git would run, and what koda obeys: in any directory, of any spelling that the file system takes for it. */
const [git, koda] = ["[.][gG][iI][tT]", "[.][kK][oO][dD][aA]"] as const;

function protecting({ root, write, readonly, hide, allowGit }: Policy): string[] {
  const own = `${root}/.git`;
  const paths = readonly.filter((path) => !(allowGit && path === own));
  const open = allowGit ? [own] : [];
  return [
    ...write.map((each) => denyBelow(each, { pattern: `/(.*/)?(${git}|${koda})(/|$)`, except: open })),
    ...open.flatMap((repository) => committing(root, repository)),
    ...paths.map((path) => `(deny file-write* ${subpath(path)})`),
    // With one of the directories above it renamed, a path would be another one, that no rule is about.
    ...unmovable([...paths, ...hide], write).map((path) => `(deny file-write-unlink ${literal(path)})`),
  ];
}

/** In a repository that is open for commits, what git runs and the repositories within stay as they are. */
function committing(root: string, repository: string): string[] {
  const named = "hooks|config|config[.]worktree|commondir|modules|worktrees";
  const insensitive = named.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
  return [
    `(deny file-write-create file-write-unlink ${literal(repository)})`,
    denyBelow(root, { pattern: `/${git}/(${insensitive})(/|$)` }),
  ];
}

function denyBelow(root: string, { pattern, except = [] }: { pattern: string; except?: readonly string[] }): string {
  const not = except.map((path) => ` (require-not ${subpath(path)})`).join("");
  return `(deny file-write* (require-all ${subpath(root)} (regex #"^${loosely(root)}${pattern}")${not}))`;
}

/** A pattern for a path: of its unusual characters it says only that there are some, which denies rather more than less. */
function loosely(path: string): string {
  return path === "/" ? "" : path.replace(/[^A-Za-z0-9/_-]+/g, ".+");
}

/** The writable roots themselves, and the directories between them and what is protected below. */
function unmovable(paths: readonly string[], write: readonly string[]): string[] {
  const between = write.flatMap((root) =>
    paths.filter((path) => isBelow(path, root)).flatMap((path) => above(path).filter((each) => isBelow(each, root))),
  );
  return [...new Set([...write, ...between])];
}

function connecting(port: number): string {
  return `(allow network-outbound (remote ip "localhost:${port}"))`;
}

function subpath(path: string): string {
  return `(subpath ${quoted(path)})`;
}

function literal(path: string): string {
  return `(literal ${quoted(path)})`;
}

function quoted(path: string): string {
  if (!path.startsWith("/") || /[\p{Cc}\p{Cs}]/u.test(path)) throw unusable(path);
  return `"${path.replace(/["\\]/g, "\\$&")}"`;
}

function unusable(path: string): KodaError {
  return new KodaError(
    "sandbox",
    `Cannot confine commands by the path ${JSON.stringify(path)}: expected an absolute path without control characters. Rename it, or leave it out.`,
  );
}

/** The directories above a path, the nearest first. */
function above(path: string): string[] {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, parts.length - index).join("/")}`);
}

function depth(path: string): number {
  return path.split("/").filter((part) => part !== "").length;
}
