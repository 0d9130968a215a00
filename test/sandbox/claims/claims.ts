import { type Attempt, type Outcome, python, type Table } from "../../support/attempts.ts";

/** Everything that the sandbox promises of files, each promise by one command. */
const files: readonly Attempt[] = [
  {
    that: "the project can be written to",
    run: "echo x > src/a && cat src/a",
    confined: { says: /^x$/ },
  },
  {
    that: "there is a directory for temporary files",
    run: 'f=$(mktemp) && echo ok > "$f" && cat "$f" && case $f in "$TMPDIR"/*) echo there;; esac',
    confined: { says: /^ok\nthere$/ },
  },
  {
    that: "nothing outside of the project can be written to",
    run: 'echo x > "$H/.bashrc"',
    confined: { says: /: Read-only file system$/, exit: 1 },
    in: { landlock: { says: /: Permission denied$/, exit: 1 } },
    unconfined: { says: /^$/, changes: ["home/.bashrc"] },
  },
  {
    that: "nothing outside can be written to by a grandchild that has detached itself",
    run: `setsid -w nohup sh -c 'echo x > "$H/evil"' < /dev/null 2>&1`,
    confined: { says: /cannot create .*: Read-only file system$/, exit: 2 },
    in: { landlock: { says: /cannot create .*: Permission denied$/, exit: 2 } },
    unconfined: { says: /^$/, changes: ["home/evil"] },
  },
  {
    that: "no mode outside can be changed",
    run: 'chmod 777 "$H/.bashrc"',
    confined: { says: /: Read-only file system$/, exit: 1 },
    in: { landlock: { says: /^$/, changes: ["home/.bashrc"], gap: /mode/ } },
    unconfined: { says: /^$/, changes: ["home/.bashrc"] },
  },
  {
    that: "nothing outside can be linked into the project",
    run: 'ln "$H/.bashrc" src/l',
    confined: { says: /: Invalid cross-device link$/, exit: 1 },
    unconfined: { says: /^$/, changes: ["home/.bashrc"] },
  },
  {
    that: "a symlink leads nowhere that could not be written to without it",
    run: 'ln -sfn "$H" src/h; echo x > src/h/.bashrc',
    confined: { says: /: Read-only file system$/, exit: 1 },
    in: { landlock: { says: /: Permission denied$/, exit: 1 } },
    unconfined: { says: /^$/, changes: ["home/.bashrc"] },
  },
  {
    that: "secrets and koda's own state cannot be read",
    run: 'cat "$H/.ssh/id" "$H/.local/koda/koda.db"',
    confined: { says: /^cat: .*\/id: Permission denied\ncat: .*\/koda.db: Permission denied$/, exit: 1 },
    unconfined: { says: /^secret\nsecret$/ },
  },
  {
    that: "a file with secrets cannot be opened, and is not an empty one",
    run: 'cat "$H/.netrc"',
    confined: { says: /: Permission denied$/, exit: 1 },
    unconfined: { says: /^secret$/ },
  },
  {
    that: "everything else can be read and listed",
    run: 'cat "$H/code/readme" && ls -d "$H"/* && ls / > /dev/null',
    confined: { says: /^to be read\n\/home\/code$/ },
    unconfined: { says: /^to be read\n\/home\/code$/ },
  },
];

const guarded = /\.git|\.koda/;

const [readOnly, busy, noLock] = [
  /: Read-only file system$/,
  /: Device or resource busy$/,
  /^error: could not lock config file .*: Read-only file system$/,
];
/** Files that git and koda would obey; Landlock cannot protect them. */
const obeyed: readonly [that: string, run: string, says: RegExp, exit: number, change: string][] = [
  ["git's configuration stays as it is", "git config a.b c", noLock, 255, ".git/config"],
  ["git gets no hook", "echo x > .git/hooks/h", readOnly, 1, ".git/hooks/h"],
  ["git is not sent elsewhere for its configuration", "echo ../e > .git/commondir", readOnly, 1, ".git/commondir"],
  ["the repository stays where it is", "mv .git .git2", busy, 1, ".git"],
  [
    "koda's settings in the project stay as they are",
    "echo '{ }' > .koda/settings.json",
    readOnly,
    1,
    ".koda/settings.json",
  ],
  ["an editor is told to run nothing", "echo x > .vscode/tasks.json", readOnly, 1, ".vscode/tasks.json"],
  ["nor is a shell", "rm -f .envrc", busy, 1, ".envrc"],
];

const repositories: readonly Attempt[] = [
  ...obeyed.map(([that, run, says, exit, change]) => ({
    that,
    run,
    confined: { says, exit },
    in: { landlock: { says: /^$/, gap: guarded } },
    unconfined: { says: /^$/, changes: [`project/${change}`] },
  })),
  {
    that: "git's answers are to be had",
    // Without that it would write down what it has learned.
    run: "GIT_OPTIONAL_LOCKS=0 git status --short -- src/file && git log --format=%s",
    confined: { says: /^two\none$/ },
  },
];

const connections: readonly Attempt[] = [
  {
    that: "servers of this machine are not reached",
    run: 'exec 3<> "/dev/tcp/127.0.0.1/$PORT" && head -c 7 <&3',
    confined: { says: /: Connection refused\n/, exit: 1 },
    in: { landlock: { says: /: Permission denied\n/, exit: 1 } },
    unconfined: { says: /^reached$/ },
  },
  {
    that: "nor by a first packet that already says something",
    run: python`print(tried(lambda: socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", PORT))))`,
    confined: { says: /^EPERM$/ },
    unconfined: { says: /^done$/ },
  },
  {
    that: "there is neither MPTCP nor UDP",
    run: python`
print(tried(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 262))
print(tried(socket.socket, socket.AF_INET, socket.SOCK_DGRAM))`,
    confined: { says: /^EPROTONOSUPPORT\nEPERM$/ },
    unconfined: { says: /^(done|EPROTONOSUPPORT|ENOPROTOOPT)\ndone$/ },
  },
  {
    that: "a socket in the file system outside is not reached",
    run: python`print(connects(socket.socket(socket.AF_UNIX), OUT + "/socket"))`,
    confined: { says: /^EACCES$/ },
    unconfined: { says: /^reached$/ },
  },
  {
    that: "a socket of one's own is",
    run: python`
server = socket.socket(socket.AF_UNIX); server.bind(TMP + "/s"); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(TMP + "/s")
server.accept()[0].send(b"own")
print(client.recv(3).decode())`,
    confined: { says: /^own$/ },
    unconfined: { says: /^own$/ },
  },
  {
    that: "a server of one's own is reached",
    run: python`
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
client = socket.socket(); client.connect(server.getsockname())
server.accept()[0].send(b"own")
print(client.recv(3).decode())`,
    confined: { says: /^own$/ },
    in: { landlock: { says: /PermissionError/, exit: 1, gap: /server/ } },
    unconfined: { says: /^own$/ },
  },
];

const processes: readonly Attempt[] = [
  {
    that: "koda gets no signal, and nobody else is stopped",
    run: 'kill -0 "$KODA"; kill -STOP "$STRANGER"',
    confined: { says: /No such process\n.*No such process$/, exit: 1 },
    in: { landlock: { says: /Operation not permitted\n.*Operation not permitted$/, exit: 1 } },
    unconfined: { says: /^$/, changes: ["the stranger is stopped"] },
  },
  {
    that: "the environment of koda cannot be read",
    run: `tr '\\0' '\\n' < "/proc/$KODA/environ" | grep SECRET`,
    confined: { says: /No such file or directory$/, exit: 1 },
    in: { landlock: { says: /Permission denied$/, exit: 1 } },
    unconfined: { says: /^SECRET=of koda$/ },
  },
  {
    that: "nobody else is traced, or limited",
    run: python`
print(tried(call, "ptrace", 0x4206, STRANGER, 0, 0))
print(tried(lambda: call("prlimit64", STRANGER, 0, struct.pack("QQ", 3600, 3600), 0)))`,
    confined: { says: /^EPERM\nEPERM$/ },
    unconfined: { says: /^done\ndone$/, changes: ["the stranger's limits"], only: "root" },
  },
  {
    that: "there are no new namespaces, mounts or rings",
    run: python`
print(tried(call, "unshare", 0x10000000))
print(tried(call, "mount", b"none", TMP.encode(), b"tmpfs", 0, 0))
print(tried(call, "io_uring_setup", 1, 0))`,
    confined: { says: /^EPERM\nEPERM\nENOSYS$/ },
  },
  {
    that: "a command has no rights, three open files and no signal that it ignores",
    run: `grep -E 'NoNewPrivs|Seccomp:|Cap(Eff|Prm|Bnd|Amb|Inh)|SigIgn|SigBlk' /proc/self/status
ls -x /proc/self/fd; ulimit -Sn`,
    confined: { root: statusWith("0"), nobody: statusWith("0"), guest: statusWith("b") },
    in: { landlock: { root: statusWith("0"), nobody: statusWith("0"), guest: statusWith("2") } },
  },
  ...(
    [
      ["exit 42", 42],
      ["kill -TERM $$", 143],
      ["kill -KILL $$", 137],
    ] as const
  ).map(([run, exit]): Attempt => ({
    that: `"${run}" ends with ${exit}`,
    run,
    confined: { says: /^$/, exit },
    unconfined: { says: /^$/, exit },
  })),
  {
    that: "who writes to a closed pipe is told by a signal",
    run: "yes | head -n1; echo ${PIPESTATUS[0]}",
    confined: { says: /^y\n141$/ },
    unconfined: { says: /^y\n141$/ },
  },
];

export const claims: readonly Table[] = [
  { about: "files", attempts: files },
  { about: "repositories", attempts: repositories },
  { about: "connections", attempts: connections },
  { about: "processes", attempts: processes },
];

/** Permitted and effective is so much of user 0's rights: the last digit; all others are zero. */
function statusWith(kept: string): Outcome {
  const status = [
    "SigBlk:\\t0+",
    "SigIgn:\\t0+",
    "CapInh:\\t0+",
    `CapPrm:\\t0+${kept}`,
    `CapEff:\\t0+${kept}`,
    "CapBnd:.*",
    "CapAmb:\\t0+",
    "NoNewPrivs:\\t1",
    "Seccomp:\\t2",
  ];
  return { says: new RegExp(`^${status.join("\\n")}\\n0 +1 +2 +3\\n\\d+$`) };
}
