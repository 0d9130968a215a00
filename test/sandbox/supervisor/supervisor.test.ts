import { describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ConnectRules } from "../../../lib/sandbox/supervisor/rules.ts";
import { evaluateAsNobody, isRoot, nobody } from "../../support/nobody.ts";
import { eventually, greeter, supervised } from "./supervised.ts";

const support = resolve("test/sandbox/supervisor/supervised.ts");
const onLinux = describe.skipIf(process.platform !== "linux");

/** Two servers at the same port of this machine, of which commands may reach one; and two sockets. */
async function surroundings(changes: Partial<ConnectRules> = {}) {
  const stack = new AsyncDisposableStack();
  const allowed = stack.use(greeter({ hostname: "127.0.0.1", port: 0 }, "the listed port"));
  const { port } = allowed;
  stack.use(greeter({ hostname: "127.0.0.2", port }, "another address"));
  const other = stack.use(greeter({ hostname: "127.0.0.1", port: 0 }, "another port"));
  const here = stack.use(
    await supervised(({ inside, outside }) => ({
      tcp: [{ address: "127.0.0.1", port }],
      except: [join(inside, "hidden")],
      names: [{ from: "/koda-elsewhere", to: join(outside, "renamed") }],
      ...changes,
    })),
  );
  for (const directory of ["inside/hidden", "inside/.git", "inside/sub", "outside/renamed"])
    mkdirSync(join(here.inside, "..", directory));
  for (const [path, greeting] of [
    ["inside/s", "inside"],
    ["inside/sub/s", "below"],
    ["inside/hidden/s", "hidden"],
    ["inside/.git/s", "git"],
    ["outside/s", "outside"],
  ] as const)
    stack.use(greeter({ unix: join(here.inside, "..", path) }, greeting));
  writeFileSync(join(here.inside, "file"), "");
  symlinkSync("s", join(here.inside, "link"));
  symlinkSync("../outside/s", join(here.inside, "link-out"));
  symlinkSync(join(here.outside), join(here.inside, "directory-out"));
  symlinkSync("loop", join(here.inside, "loop"));
  return { ...here, port, otherPort: other.port, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const ways = [
  ["on a duplicate of the command's socket", true],
  ["by a socket of koda's in its place", false],
] as const;

onLinux.each(ways)("connecting %s", (_, borrow) => {
  test("reaches what the rules allow, and nothing else", async () => {
    await using here = await surroundings({ borrow });
    const { port, otherPort } = here;
    const { output } = await here.run(`
print(unix(INSIDE + "/s"), unix("s"), unix("sub/../s"), unix("./sub//s"), unix("link"))
print(unix(INSIDE + "/nobody"), unix("sub/no/s"), unix("file"), unix("loop"))
print(unix(OUTSIDE + "/s"), unix("../outside/s"), unix("link-out"), unix("directory-out/s"), unix(OUTSIDE + "/nobody"))
print(unix("hidden/s"), unix(".git/s"), unix(".git/nobody"), unix("\\0" + INSIDE), unix(""))
print(tcp("127.0.0.1", ${port}))
print(tcp("127.0.0.2", ${port}), tcp("127.0.0.1", ${otherPort}), tcp("0.0.0.0", ${port}))
print(tcp("::1", ${port}, socket.AF_INET6), tcp("::ffff:127.0.0.1", ${port}, socket.AF_INET6))
`);
    expect(output.split("\n")).toEqual([
      "inside inside inside below inside",
      "ENOENT ENOENT ECONNREFUSED ELOOP",
      "EACCES EACCES EACCES EACCES EACCES",
      "EACCES EACCES EACCES EACCES EINVAL",
      "the listed port",
      "EACCES EACCES EACCES",
      "EACCES EACCES",
    ]);
    const said = new Set(here.refusals.map(({ what }) => what));
    expect(said).toContain(`the unix socket "${join(here.outside, "s")}"`);
    expect(said).toContain(`127.0.0.2:${port}`);
    expect(said).toContain(`the abstract unix socket "@${here.inside}"`);
  });

  test("paths through descriptors lead where the command's descriptors do", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
inside, outside = os.open(INSIDE, os.O_PATH), os.open(OUTSIDE, os.O_PATH)
allowed = [f"/proc/self/fd/{inside}/s", f"/dev/fd/{inside}/sub/s", f"/proc/thread-self/fd/{inside}/s", "/proc/self/cwd/s",
    f"/proc/self/root{INSIDE}/s"]
refused = [f"/proc/self/fd/{outside}/s", f"/proc/self/root{OUTSIDE}/s", "/proc/self/fd/9999/s",
    f"/proc/{os.getppid()}/cwd/s", "/proc/1/root/s"]
print(*map(unix, allowed))
print(*map(unix, refused))
os.chdir("sub")
print(unix("s"), unix("../s"), unix("../../outside/s"))
`);
    expect(output.split("\n")).toEqual([
      "inside below inside inside inside",
      "EACCES EACCES EACCES EACCES EACCES",
      "below inside EACCES",
    ]);
  });

  test("the socket blocks as before, and only as before", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
def state(s):
    return s.getblocking(), os.get_blocking(s.fileno()), os.get_inheritable(s.fileno())
with socket.socket() as s:
    before = state(s); s.connect(("127.0.0.1", ${here.port})); print(before == state(s), state(s))
with socket.socket(socket.AF_UNIX) as s:
    s.setblocking(False); os.set_inheritable(s.fileno(), True)
    before = state(s); s.connect("s"); print(before == state(s), state(s))
with socket.socket(socket.AF_UNIX) as s:
    before = state(s); print(s.connect_ex(OUTSIDE + "/s") == errno.EACCES, before == state(s))
`);
    expect(output.split("\n")).toEqual(["True (True, True, False)", "True (False, False, True)", "True True"]);
  });

  test("a connection that is not waited for is made beside", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(
      `
with socket.socket() as s:
    s.setblocking(False)
    print(s.connect_ex(("127.0.0.1", ${here.port})) in (0, errno.EINPROGRESS))
    select.select([], [s], [])
    print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), s.getpeername()[1] == ${here.port})
    select.select([s], [], [])
    print(s.recv(64).decode())
async def main():
    reader, writer = await asyncio.open_connection("127.0.0.1", ${here.port})
    print((await reader.read()).decode())
    reader, writer = await asyncio.open_unix_connection("sub/s")
    print((await reader.read()).decode())
asyncio.run(main())
`,
      { filter: "connect" },
    );
    expect(output.split("\n")).toEqual(["True", "0 True", "the listed port", "the listed port", "below"]);
  });

  test("the commands' own servers are connected to, of both kinds", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    server, client = socket.socket(socket.AF_UNIX, kind), socket.socket(socket.AF_UNIX, kind)
    server.bind(f"own-{int(kind)}"); server.listen()
    client.connect(f"own-{int(kind)}")
    peer, _ = server.accept()
    peer.send(b"one"); peer.send(b"two")
    print(client.recv(3).decode())
`);
    expect(output).toBe("one\none");
  });

  test("a full queue is waited for by those who wait, and no one else", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
server = socket.socket(socket.AF_UNIX); server.bind("queue"); server.listen(0)
waiting = []
while True:
    s = socket.socket(socket.AF_UNIX); s.setblocking(False)
    result = s.connect_ex("queue")
    if result != 0: break
    waiting.append(s)
print(errno.errorcode[result])
late = socket.socket(socket.AF_UNIX)
thread = threading.Thread(target=lambda: print("late", late.connect_ex("queue")))
thread.start()
thread.join(0.2)
print("waits", thread.is_alive(), "others do not", unix("s"))
for _ in range(len(waiting) + 1): server.accept()
thread.join()
`);
    expect(output.split("\n")).toEqual(["EAGAIN", "waits True others do not inside", "late 0"]);
  });

  test("what is connected stays connected", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
with socket.socket() as s:
    s.setblocking(False)
    while True:
        result = s.connect_ex(("127.0.0.1", ${here.port}))
        if result not in (errno.EINPROGRESS, errno.EALREADY): break
    s.setblocking(True)
    print(result in (0, errno.EISCONN), attempt(s, ("127.0.0.1", ${here.port})), s.recv(64).decode())
with socket.socket(socket.AF_UNIX) as s:
    s.connect("s"); print(attempt(s, INSIDE + "/sub/s"), s.recv(64).decode())
`);
    expect(output.split("\n")).toEqual(["True EISCONN the listed port", "EISCONN inside"]);
  });

  test("nothing listens: the command is told as ever", async () => {
    const closed = greeter({ hostname: "127.0.0.1", port: 0 }, "gone");
    closed[Symbol.dispose]();
    await using here = await surroundings({ borrow, tcp: [{ address: "127.0.0.1", port: closed.port }] });
    const { output } = await here.run(`
print(tcp("127.0.0.1", ${closed.port}))
server = socket.socket(socket.AF_UNIX); server.bind("bound"); print(unix("bound"))
server.close(); print(unix("bound"))
`);
    expect(output.split("\n")).toEqual(["ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED"]);
  });

  test("threads connect at once, each with its own answer", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
wrong = []
def work(n):
    for _ in range(50):
        got = tcp("127.0.0.1", ${here.port}) if n % 3 == 0 else unix("s") if n % 3 == 1 else unix(OUTSIDE + "/s")
        if got != ("the listed port", "inside", "EACCES")[n % 3]: wrong.append(got)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
`);
    expect(output).toBe("[]");
  });

  test("what is not there to be connected is said not to be", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
libc = ctypes.CDLL(None, use_errno=True)
def raw(fd, data, length=None):
    libc.connect(fd, data, len(data) if length is None else length)
    return errno.errorcode[ctypes.get_errno()]
s, read = socket.socket(socket.AF_UNIX), os.pipe()[0]
address = b"\\x01\\0s\\0"
print(raw(999, address), raw(read, address), raw(s.fileno(), None, 16), raw(s.fileno(), address, 1), raw(s.fileno(), address, -1),
      raw(s.fileno(), address, 129), raw(s.fileno(), b"\\x10\\0" + bytes(10)))
`);
    expect(output).toMatch(/^(EBADF|ENOTSOCK) ENOTSOCK EFAULT EINVAL EINVAL EINVAL EAFNOSUPPORT$/);
  });

  test("swapping what a link leads to, again and again, lets nobody out", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
os.symlink("s", "a"); os.symlink(OUTSIDE + "/s", "b"); os.symlink("s", "now")
os.symlink("sub", "c"); os.symlink(OUTSIDE, "d"); os.symlink("sub", "where")
child = os.fork()
if child == 0:
    for n in range(3000):
        os.symlink(("s", OUTSIDE + "/s")[n % 2], "next"); os.rename("next", "now")
        os.symlink(("sub", OUTSIDE)[n % 2], "next"); os.rename("next", "where")
    os._exit(0)
seen, tries = set(), 0
while tries < 20 or os.waitpid(child, os.WNOHANG)[0] == 0:
    seen.update((unix("now"), unix("where/s"))); tries += 1
print(sorted(seen))
`);
    // Whoever is lucky sees both ways; nobody ever reaches the other side.
    expect(output).not.toContain("outside");
    expect(output).toMatch(/EACCES|inside/);
  });

  test("changing the address while it is looked at lets nobody out", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
import struct
good = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(${here.port}), socket.inet_aton("127.0.0.1"))
bad = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(${here.port}), socket.inet_aton("127.0.0.2"))
libc, memory, ended = ctypes.CDLL(None), ctypes.create_string_buffer(good, 16), threading.Event()
def change():
    while not ended.is_set():
        memory.raw = bad; memory.raw = good
thread = threading.Thread(target=change); thread.start()
reached = set()
for _ in range(300):
    with socket.socket() as s:
        if libc.connect(s.fileno(), memory, 16) == 0: reached.add(s.getpeername()[0])
ended.set(); thread.join()
print(reached)
`);
    expect(output).toBe("{'127.0.0.1'}");
  });

  test("eight commands with 200 connections each leave nothing behind", async () => {
    await using here = await surroundings({ borrow });
    const before = openFiles();
    const each = `
for _ in range(100): assert tcp("127.0.0.1", ${here.port}) == "the listed port"
for _ in range(100): assert unix("s") == "inside"
print("done")
`;
    const ended = await Promise.all(Array.from({ length: 8 }, () => here.run(each)));
    expect(ended).toEqual(Array.from({ length: 8 }, () => ({ exitCode: 0, output: "done" })));
    await eventually(() => openFiles() <= before);
  });

  test("a command that is killed while it waits leaves nothing behind, and the others go on", async () => {
    await using here = await surroundings({ borrow });
    const before = openFiles();
    const command = here.start(`
server = socket.socket(socket.AF_UNIX); server.bind("queue"); server.listen(0)
for _ in range(3):
    threading.Thread(target=lambda: socket.socket(socket.AF_UNIX).connect("queue")).start()
print("waiting", flush=True)
signal.pause()
`);
    const reader = command.stdout.getReader();
    await reader.read();
    expect((await here.run(`print(unix("s"))`)).output).toBe("inside");
    command.kill("SIGKILL");
    await command.exited;
    await reader.cancel();
    expect((await here.run(`print(unix("s"))`)).output).toBe("inside");
    await eventually(() => openFiles() <= before);
  });
});

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}

onLinux("the supervisor", () => {
  test("turns a connected socket to nothing, and to nothing else", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
libc = ctypes.CDLL(None, use_errno=True)
with socket.socket() as s:
    s.connect(("127.0.0.1", ${here.port}))
    print(attempt(s, ("127.0.0.1", ${here.port})), attempt(s, ("127.0.0.2", ${here.port})))
    print(libc.connect(s.fileno(), bytes(16), 16), attempt(s, ("127.0.0.1", ${here.port})))
`);
    expect(output.split("\n")).toEqual(["EISCONN EACCES", "0 the listed port"]);
  });

  test("turns no datagram socket anywhere, not even one of a pair", async () => {
    await using here = await surroundings();
    const program = `
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); server.bind("datagrams")
print(attempt(pair[0], INSIDE + "/datagrams"), unix("datagrams", socket.SOCK_DGRAM))
with socket.socket(type=socket.SOCK_DGRAM) as s: print(attempt(s, ("127.0.0.1", ${here.port})))
`;
    expect((await here.run(program, { filter: "connect" })).output).toBe("EPERM EPERM\nEPERM");
    // Under the whole filter there is none to begin with.
    expect((await here.run(program)).exitCode).toBe(1);
  });

  test("knows directories by the names that commands have for them", async () => {
    await using here = await surroundings();
    await using renamed = await supervised(({ inside, outside }) => ({
      sockets: [inside, outside],
      names: [{ from: join(inside, ".."), to: outside }],
    }));
    using _own = greeter({ unix: join(renamed.outside, "s") }, "by another name");
    using _project = greeter({ unix: join(renamed.inside, "s") }, "by its own name");
    const { output } = await renamed.run(`
os.symlink(os.path.dirname(INSIDE) + "/s", "link")
print(unix(os.path.dirname(INSIDE) + "/s"), unix(INSIDE + "/s"), unix("../s"), unix("link"), sep=", ")
`);
    expect(output).toBe("by another name, by its own name, by another name, by another name");
    expect((await here.run(`print(unix("/koda-elsewhere/s"))`)).output).toBe("EACCES");
  });

  test("leaves it to the commands' network where that decides", async () => {
    await using here = await surroundings({ tcp: "any", abstract: true });
    const { output } = await here.run(`
server = socket.socket(socket.AF_UNIX); server.bind("\\0" + INSIDE); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect("\\0" + INSIDE)
print(client.getpeername().decode() == "\\0" + INSIDE, tcp("127.0.0.2", ${here.port}), tcp("127.0.0.1", ${here.otherPort}))
`);
    expect(output).toBe("True another address another port");
  });

  test("gives no command a socket in koda's network instead of its own", async () => {
    await using here = await surroundings({ tcp: "any", abstract: true, borrow: false });
    const { output } = await here.run(`print(tcp("127.0.0.1", ${here.port}), unix("\\0" + INSIDE), unix("s"))`);
    expect(output).toBe("EPERM EPERM inside");
  });

  test("a second name for a socket is a socket at that place", async () => {
    await using here = await surroundings();
    linkSync(join(here.inside, "s"), join(here.outside, "linked"));
    const { output } = await here.run(`print(unix(OUTSIDE + "/linked"))`);
    expect(output).toBe("EACCES");
  });

  test("signals that the command handles do not disturb it", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
seen = set()
for _ in range(200): seen.update((unix("s"), tcp("127.0.0.1", ${here.port})))
signal.setitimer(signal.ITIMER_REAL, 0)
print(sorted(seen))
`);
    expect(output).toBe("['inside', 'the listed port']");
  });

  test("says who was refused, and no more often than one can read", async () => {
    await using here = await surroundings();
    const command = here.start(`
print(os.getpid(), os.getsid(0))
for _ in range(1000): unix(OUTSIDE + "/s")
`);
    const [pid, session] = (await command.stdout.text()).trim().split(" ").map(Number);
    await eventually(() => here.refusals.length > 0);
    expect(here.refusals[0]).toEqual({
      pid: pid ?? 0,
      session: session ?? 0,
      what: `the unix socket "${join(here.outside, "s")}"`,
    });
    expect(here.refusals.length).toBeLessThan(1000);
  });

  test("ends at once, and what still waits then fails", async () => {
    const here = await surroundings();
    const command = here.start(`
server = socket.socket(socket.AF_UNIX); server.bind("queue"); server.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(2)]
clients[0].connect("queue")
print("waiting", flush=True)
print([client.connect_ex("queue") for client in clients[1:] + [socket.socket(socket.AF_UNIX)]][-1] != 0)
`);
    const reader = command.stdout.getReader();
    await reader.read();
    here.supervisor[Symbol.dispose]();
    here.supervisor[Symbol.dispose]();
    const rest = await reader.read();
    expect(Buffer.from(rest.value ?? []).toString()).toBe("True\n");
    await here[Symbol.asyncDispose]();
  });

  test("does its work without root's rights as well", async () => {
    const script = `
const { supervised, greeter } = await import(input);
async function connect(borrow) {
  using allowed = greeter({ hostname: "127.0.0.1", port: 0 }, "listed");
  await using here = await supervised(() => ({ borrow, tcp: [{ address: "127.0.0.1", port: allowed.port }] }));
  using inside = greeter({ unix: here.inside + "/s" }, "inside");
  using outside = greeter({ unix: here.outside + "/s" }, "outside");
  const { output } = await here.run(
    "print(os.getuid(), unix('s'), unix(OUTSIDE + '/s'), tcp('127.0.0.1', " + allowed.port + "), tcp('127.0.0.2', " + allowed.port + "))"
  );
  return output;
}
const answer = Promise.all([connect(true), connect(false)]);`;
    const uid = isRoot ? nobody : process.getuid?.();
    const expected = `${uid} inside EACCES listed EACCES`;
    expect(await evaluateAsNobody(script, support)).toEqual([expected, expected]);
  });

  test("rests while nothing is asked, and lets the program end", async () => {
    const script = `
const { supervised } = await import(${JSON.stringify(support)});
const here = await supervised(() => ({}));
const command = here.start("print(unix(OUTSIDE), flush=True); signal.pause()");
const reader = command.stdout.getReader();
await reader.read();
const before = process.cpuUsage();
await Bun.sleep(1000);
const { user, system } = process.cpuUsage(before);
command.kill("SIGKILL");
await command.exited;
console.log((user + system) / 1000);
process.exitCode = 3;`;
    for (const end of ["", "process.exit(3);"]) {
      const child = Bun.spawn([process.execPath, "-e", `${script}\n${end}`], { stdout: "pipe", stderr: "inherit" });
      const [milliseconds] = await Promise.all([child.stdout.text(), child.exited]);
      expect(child.exitCode).toBe(3);
      expect(Number(milliseconds)).toBeLessThan(300);
    }
  });

  test("says so where there can be none", async () => {
    const script = `
const { Supervisor } = await import(${JSON.stringify(resolve("lib/sandbox/supervisor/supervisor.ts"))});
try {
  Supervisor.start({ sockets: [], except: [], names: [], tcp: [], abstract: false }, () => {});
} catch ({ code, message }) {
  console.log(code, message);
}`;
    // Without the compiler no function of the C library can be called.
    const env = { ...process.env, BUN_JSC_useJIT: "0" };
    const child = Bun.spawn([process.execPath, "-e", script], { env, stdout: "pipe", stderr: "inherit" });
    expect(await child.stdout.text()).toMatch(/^sandbox Cannot watch over what commands connect to: /);
    expect(await child.exited).toBe(0);
  });
});
