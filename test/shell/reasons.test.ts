import { describe, expect, test } from "bun:test";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { explain, type FailedCommand } from "../../lib/shell/reasons.ts";
import { cpuTime } from "../support/cputime.ts";

const policy: Policy = {
  root: "/code",
  home: "/home/me",
  tmp: "/tmp/koda-1",
  privateTmp: true,
  write: ["/code", "/tmp/koda-1"],
  repositories: { paths: [] },
  readonly: ["/code/.git", "/code/.koda", "/code/fixed"],
  hide: ["/home/me/.ssh", "/run"],
  show: [],
  copies: [],
  allowGit: false,
  allowConfig: false,
  network: "allowlist",
  limits: {},
};
const explained = (output: string, failure: Partial<FailedCommand> & { rules?: Partial<Policy> } = {}) => {
  const { rules, ...rest } = failure;
  return explain({
    command: "make",
    output,
    exitCode: 1,
    refusal: undefined,
    policy: { ...policy, ...rules },
    ...rest,
  });
};

const write = "sandbox: writing /etc/hosts is not allowed (--allow-write opens a directory)";
const git = "sandbox: .git is read-only (--allow-git lets commands commit)";
const other = (work: string) =>
  `sandbox: of repositories only the project's own can be opened (for this one: --cd ${work} --allow-git)`;
const ssh = "sandbox: reading /home/me/.ssh is not allowed (--allow-read opens what is hidden by default)";

const packages = "sandbox: packages of the system cannot be installed, by design";
const containers = "sandbox: containers run outside of the sandbox, so their socket is closed, by design";
const machine = "sandbox: the machine's settings and its log are closed, by design";
const services = "sandbox: services of the system are out of reach, by design";

const lines: [line: string, reason: string][] = [
  ["touch: cannot touch '/etc/hosts': Read-only file system", write],
  ["sh: 1: cannot create /etc/hosts: Read-only file system", write],
  ["bash: line 1: /etc/hosts: Read-only file system", write],
  ["bash: line 1: /etc/hosts: Permission denied", write],
  ["/bin/sh: 3: cannot create /etc/hosts: Permission denied", write],
  ["rm: cannot remove '/etc/hosts': Operation not permitted", write],
  ["mv: cannot move 'a' to '/etc/hosts': Read-only file system", write],
  ["OSError: [Errno 30] Read-only file system: '/etc/hosts'", write],
  ["Error: EROFS: read-only file system, open '/etc/hosts'", write],
  ["open /etc/hosts: read-only file system", write],
  ["touch: cannot touch '/etc/../etc/hosts': Read-only file system", write],
  ["fatal: Unable to create '/code/.git/index.lock': Read-only file system", git],
  ["error: could not lock config file .git/config: Read-only file system", git],
  ["fatal: Unable to create '/code/vendor/lib/.git/index.lock': Permission denied", other("/code/vendor/lib")],
  ["fatal: Unable to create '/mono/.git/index.lock': Read-only file system", other("/mono")],
  ["fatal: Unable to create '/mono/.git/worktrees/a/index.lock': Read-only file system", other("/mono")],
  ["fatal: cannot copy '/usr/share/git-core/templates/x' to '/code/.git/x': Read-only file system", git],
  ["error: could not write config file .git/config: Device or resource busy", git],
  ["mv: cannot move '/code/.git' to '/code/a': Device or resource busy", git],
  ["cat: /home/me/.ssh/id_rsa: Permission denied", ssh],
  ["PermissionError: [Errno 13] Permission denied: '/home/me/.ssh/config'", ssh],
  ["touch: cannot touch '/code/.koda/x': Read-only file system", "sandbox: .koda is read-only, by design"],
  ["touch: cannot touch '/code/fixed/x': Read-only file system", "sandbox: /code/fixed/x is read-only in this run"],
  [
    'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.',
    "sandbox: sudo and its like give no rights in a sandbox, by design",
  ],
  ["mount: /mnt: permission denied.", "sandbox: mounting is refused, by design"],
  [
    "chown: changing ownership of 'a': Operation not permitted",
    "sandbox: files cannot be given to other users, by design",
  ],
  [
    "strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted",
    "sandbox: tracing processes is refused, by design",
  ],
  ["unshare: unshare failed: Operation not permitted", "sandbox: making namespaces is refused, by design"],
  [
    "chroot: cannot change root directory to '/': Operation not permitted",
    "sandbox: changing the root directory is refused, by design",
  ],
  ["mknod: x: Permission denied", "sandbox: making devices is refused, by design"],
  ["E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)", packages],
  ["W: Problem unlinking the file /var/cache/apt/archives/x.deb - PrepareFiles (13: Permission denied)", packages],
  ["E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?", packages],
  ["dpkg: error: requested operation requires superuser privilege", packages],
  ["dpkg: error: unable to access the dpkg database directory /var/lib/dpkg: Read-only file system", packages],
  ["ERROR: Unable to lock database: Permission denied", packages],
  ["Error: This command has to be run with superuser privileges (under the root user on most systems).", packages],
  [
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get …",
    containers,
  ],
  [
    "ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    containers,
  ],
  ["date: cannot set date: Operation not permitted", machine],
  ["dmesg: read kernel buffer failed: Operation not permitted", machine],
  ['sysctl: permission denied on key "vm.swappiness"', machine],
  ["Failed to connect to bus: Host is down", services],
  [
    "curl: (6) Could not resolve host: example.com",
    "sandbox: only koda's proxies lead to the network (HTTP_PROXY, ALL_PROXY), and nothing else resolves names",
  ],
];

test.each(lines)("%s", (line, reason) => {
  expect(explained(line)).toBe(reason);
  expect(explained(`first this\n${line}\nand then that\n`)).toBe(reason);
});

describe("nothing is claimed", () => {
  const innocent = [
    "",
    "make: *** [Makefile:3: test] Error 1",
    "cat: /etc/shadow: Permission denied",
    "bash: line 1: ./script.sh: Permission denied",
    "touch: cannot touch '/code/a': Permission denied",
    "touch: cannot touch 'a': Read-only file system",
    "/usr/bin/touch: cannot touch '/code/a': Read-only file system",
    "touch: cannot touch '/tmp/a': No space left on device",
    "touch: cannot touch '/tmp/a': Permission denied",
    "curl: (7) Failed to connect to 127.0.0.1 port 8123: Connection refused",
    "kill: (12) - Operation not permitted",
    "TypeError: write is not a function",
  ];
  test.each(innocent)("of %j", (line) => expect(explained(line)).toBeUndefined());

  test("of a command that went well", () => {
    expect(explained("touch: cannot touch '/etc/hosts': Read-only file system", { exitCode: 0 })).toBeUndefined();
  });

  test("of a file that could not be started", () => {
    expect(explained("bash: line 1: /etc/hosts: Permission denied", { exitCode: 126 })).toBeUndefined();
  });

  test("of what the policy allows", () => {
    const rules = { write: ["/etc"], show: ["/home/me/.ssh"] };
    expect(explained("touch: cannot touch '/etc/hosts': Read-only file system", { rules })).toBeUndefined();
    expect(explained("cat: /home/me/.ssh/id: Permission denied", { rules })).toBeUndefined();
  });

  test("of what was said long before the end", () => {
    const noise = "noise\n".repeat(30);
    expect(explained(`touch: cannot touch '/etc/hosts': Read-only file system\n${noise}`)).toBeUndefined();
  });
});

describe("a shell that cannot open a file says nothing of reading or writing, but its command does", () => {
  const process = "sandbox: reading /proc/1/environ is not allowed: processes cannot look into others, by design";
  const rows: [command: string, line: string, reason: string | undefined][] = [
    ["tr a b < /proc/1/environ", "bash: line 1: /proc/1/environ: Permission denied", process],
    ["tr a b </proc/1/environ > out", "bash: line 1: /proc/1/environ: Permission denied", process],
    ["tr a b < '/proc/1/environ'", "sh: 1: cannot open /proc/1/environ: Permission denied", process],
    ['tr a b < "$file"', "bash: line 1: /proc/1/environ: Permission denied", process],
    ["cat /proc/1/environ", "cat: /proc/1/environ: Permission denied", process],
    ["read line < /etc/shadow", "bash: line 1: /etc/shadow: Permission denied", undefined],
    ["tr a b < ~/.ssh/id", "bash: line 1: /home/me/.ssh/id: Permission denied", ssh],
    ["tr a b < in > /etc/hosts", "bash: line 1: /etc/hosts: Permission denied", write],
    ["cat < /etc/hosts.allow > /etc/hosts", "bash: line 1: /etc/hosts: Permission denied", write],
    ["sh setup.sh", "sh: 1: cannot create /etc/hosts: Permission denied", write],
  ];
  test.each(rows)("%s", (command, line, reason) => expect(explained(line, { command })).toBe(reason));
});

test("with --allow-git only what git would run stays read-only", () => {
  const rules = { allowGit: true };
  const on = (path: string) => explained(`fatal: Unable to create '${path}': Read-only file system`, { rules });
  expect(on("/code/.git/index.lock")).toBeUndefined();
  expect(on("/code/.git/hooks/post-commit")).toBe("sandbox: post-commit of .git stays read-only, by design");
  expect(on("/code/.git/config")).toBe("sandbox: config of .git stays read-only, by design");
  expect(on("/code/sub/.git/index.lock")).toBe(other("/code/sub"));
});

test("what other programs run is named with the flag, by the names that programs give it", () => {
  const config = (path: string, name: string) =>
    `sandbox: ${path} is protected, since other programs run what is in ${name} (--allow-config allows changes)`;
  for (const [line, path, name] of [
    ["bash: line 1: .vscode/tasks.json: Read-only file system", "/code/.vscode/tasks.json", ".vscode"],
    ["bash: line 1: .envrc: Read-only file system", "/code/.envrc", ".envrc"],
    ["rm: cannot remove '.mcp.json': Device or resource busy", "/code/.mcp.json", ".mcp.json"],
    [
      "error: unable to unlink old 'app/.claude/settings.json': Read-only file system",
      "/code/app/.claude/settings.json",
      ".claude",
    ],
  ] as const) {
    expect(explained(line)).toBe(config(path, name));
    expect(explained(line, { rules: { allowConfig: true } })).toBeUndefined();
  }
});

test("in mode plan the mode is named, since no flag opens the project", () => {
  const line = "touch: cannot touch 'a': Read-only file system";
  expect(
    explained(`${line}\ntouch: cannot touch './a': Read-only file system`, { rules: { write: ["/tmp/koda-1"] } }),
  ).toBe("sandbox: writing /code/a is not allowed (mode plan writes nothing in the project)");
});

test("what the proxies refused is named with their reason", () => {
  const refusal = { host: "evil.test", port: 443, reason: "it is not in the allowlist (--allow-net evil.test)" };
  const reason = "egress: evil.test:443 was refused: it is not in the allowlist (--allow-net evil.test)";
  expect(explained("curl: (56) CONNECT tunnel failed, response 403", { refusal })).toBe(reason);
  expect(explained("curl: (6) Could not resolve host: evil.test", { refusal })).toBe(reason);
  expect(explained("make: *** Error 1", { refusal })).toBeUndefined();
});

test("without any network that is the reason", () => {
  const line = "ping: connect: Network is unreachable";
  expect(explained(line, { rules: { network: "none" } })).toBe("sandbox: the network is off (--net none)");
});

test.each([
  `access denied ${"denied ".repeat(100_000)}`,
  `denied docker ${"denied docker ".repeat(60_000)}`,
  `permission denied ${"‘".repeat(200_000)}`,
  `permission denied ${"/a/b ".repeat(100_000)}`,
  `permission denied ${".git ".repeat(100_000)}`,
  `/bin/x: ${"/bin/x: '".repeat(100_000)} permission denied`,
])("a line of a megabyte takes no longer than another: %.30j", (line) => {
  const startedAt = cpuTime();
  for (let time = 0; time < 10; time++) explained(line);
  const short = cpuTime();
  for (let time = 0; time < 10; time++) explained(line.slice(0, 800));
  const floor = cpuTime() - short;
  // Neither depends on the length: a pattern that took its square would take a million times as long.
  expect(short - startedAt).toBeLessThan(100 * floor + 100);
});
