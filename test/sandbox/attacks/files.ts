import { type Attempt, python, type Table } from "../../support/attempts.ts";

const [file, directory, made] = ["outside/file", "outside/directory", "outside/directory/new"];

/** Each is done to a file or a directory outside, `F` and `D`; what changes by it where nobody prevents it. */
const ways: readonly [name: string, action: string, changes: readonly string[]][] = [
  ["opened to be written", "os.close(os.open(F, os.O_WRONLY))", []],
  ["opened to be appended to", "os.close(os.open(F, os.O_WRONLY | os.O_APPEND))", []],
  ["emptied when it is opened", "os.close(os.open(F, os.O_RDONLY | os.O_TRUNC))", [file]],
  ["truncated", "os.truncate(F, 1)", [file]],
  ["renamed", 'os.rename(F, D + "/new")', [file, made]],
  ["removed", "os.unlink(F)", [file]],
  ["removed with its directory", "os.rmdir(D)", [directory]],
  ["made", 'os.close(os.open(D + "/new", os.O_CREAT | os.O_WRONLY))', [made]],
  ["made without a name", "os.close(os.open(D, os.O_TMPFILE | os.O_WRONLY))", []],
  ["made as a directory", 'os.mkdir(D + "/new")', [made]],
  ["made as a pipe", 'os.mkfifo(D + "/new")', [made]],
  ["made as a link", 'os.symlink("x", D + "/new")', [made]],
  ["made as a socket", 'os.chdir(D); socket.socket(socket.AF_UNIX).bind("new")', [made]],
  ["linked there", 'os.link(P + "/src/file", D + "/new")', [made]],
  ["moved there", 'os.rename(P + "/src/file", D + "/new")', [made]],
  ["exchanged", 'call("renameat2", -100, F.encode(), -100, (P + "/src/file").encode(), 2)', [file]],
];

/** These need no right to write, and Landlock knows none for them. */
const waysOfModes: typeof ways = [
  ["given another mode", "os.chmod(F, 0o600)", [file]],
  ["given other times", "os.utime(F, (1, 1))", [file]],
  ["given away", "os.chown(F, os.getuid(), os.getgid())", []],
  ["given an attribute", 'os.setxattr(F, "user.koda", b"x")', []],
];

const attemptOf = ([name, action, changes]: (typeof ways)[number]): Attempt => ({
  that: `nothing outside is ${name}`,
  run: python`
F, D = OUT + "/file", OUT + "/directory"
def act(): ${action}
print(tried(act))`,
  confined: { says: /^(EROFS|EXDEV)$/ },
  in: { landlock: { says: /^(EACCES|EXDEV)$/ } },
  unconfined: { says: /^done$/, ...(changes.length > 0 && { changes }) },
});

const ofModes = (way: (typeof ways)[number]): Attempt => ({
  ...attemptOf(way),
  in: { landlock: { says: /^done$/, changes: way[2], gap: /mode/ } },
});

const races: readonly Attempt[] = [
  {
    that: "a link that changes while it is followed leads nobody out",
    run: python`
os.symlink(P + "/src/file", P + "/now")
other = os.fork()
if other == 0:
    for turn in range(300):
        os.symlink((OUT + "/file", P + "/src/file")[turn % 2], P + "/next"); os.rename(P + "/next", P + "/now")
    os._exit(0)
opened = 0
while os.waitpid(other, os.WNOHANG)[0] == 0:
    try: os.close(os.open(P + "/now", os.O_WRONLY | os.O_APPEND))
    except OSError: continue
    opened += os.path.realpath(P + "/now") == OUT + "/file" and writes(OUT + "/file") == "done"
print(opened)`,
    confined: { says: /^0$/ },
  },
  {
    that: "a directory that changes into a link while one writes below it leads nobody out",
    run: python`
os.mkdir(P + "/real"); os.symlink(OUT + "/directory", P + "/link")
other = os.fork()
if other == 0:
    for turn in range(2000): tried(call, "renameat2", -100, (P + "/real").encode(), -100, (P + "/link").encode(), 2)
    os._exit(0)
while os.waitpid(other, os.WNOHANG)[0] == 0:
    writes(P + "/real/escaped", os.O_WRONLY | os.O_CREAT)
print(os.listdir(OUT + "/directory"))`,
    confined: { says: /^\[\]$/ },
  },
];

const names: readonly Attempt[] = [
  {
    that: "strange names are only names",
    run: python`
for name in (b"a\nb", b"\"'$(id)", b"\xff\xfe", b" ", b"-rf", b".git ", b".git\n", b"..git", "\N{ZERO WIDTH SPACE}.git".encode()):
    path = P.encode() + b"/src/" + name
    os.mkdir(path); os.mkdir(path + b"/.."  b"/x" + name)
    writes(path + b"/file", os.O_WRONLY | os.O_CREAT)
print(len(os.listdir(P + "/src")))`,
    confined: { says: /^1\d$/ },
  },
  {
    that: "a path as long as there may be is only a path",
    run: python`
os.chdir(P)
for depth in range(40): os.mkdir("d" * 200); os.chdir("d" * 200)
print(writes("file", os.O_WRONLY | os.O_CREAT), writes("../" * 41 + "home/.bashrc"))`,
    confined: { says: /^done EROFS$/ },
    in: { landlock: { says: /^done EACCES$/ } },
  },
  {
    that: "a link to a link to a link leads nobody out",
    run: 'ln -s "$OUT" l1; ln -s l1 l2; ln -s l2/directory l3; echo x > l3/new; echo x > l2/file; rm l2/file; mkdir l1/more',
    confined: { says: /^(.*Read-only file system\n?){4}$/, exit: 1 },
    in: { landlock: { says: /^(.*Permission denied\n?){4}$/, exit: 1 } },
    unconfined: { says: /^$/, changes: [file, made] },
  },
];

const permanent: readonly Attempt[] = [
  {
    that: "nothing is made that nobody can change or remove any more",
    run: "touch src/i && chattr +i src/i; chattr +a src/i",
    needs: ["chattr"],
    confined: { says: /^chattr: Operation not permitted .*\nchattr: Operation not permitted .*$/, exit: 1 },
    unconfined: { says: /^(chattr: .*(not permitted|supported).*\n?)*$/, exit: 1, only: "nobody" },
  },
  {
    that: "no program is given rights that are not its caller's",
    run: python`
rights = struct.pack("<IIIII", 0x02000001, 1 << 21, 0, 0, 0)
print(tried(os.setxattr, P + "/src/file", "security.capability", rights), tried(os.setxattr, P + "/src/file", "trusted.koda", b"x"))`,
    confined: { says: /^EPERM EPERM$/ },
    unconfined: { says: /^done done$/, only: "root" },
  },
  {
    that: "nobody is made to wait by a lease, or told by a notice",
    run: python`
with open(P + "/src/file") as f:
    print(tried(fcntl.fcntl, f, fcntl.F_SETLEASE, fcntl.F_RDLCK), tried(fcntl.fcntl, f, fcntl.F_NOTIFY, 2))`,
    confined: { says: /^EPERM EPERM$/ },
  },
];

export const files: Table = {
  about: "files outside",
  attempts: [...ways.map(attemptOf), ...waysOfModes.map(ofModes), ...races, ...names, ...permanent],
};
