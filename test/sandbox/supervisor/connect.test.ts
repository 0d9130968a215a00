import { expect, test } from "bun:test";
import { join } from "node:path";
import { greeter } from "./supervised.ts";
import { onLinux, surroundings, ways } from "./surroundings.ts";

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

  test("a caller's address leads to the proxy, and is where the connection comes from", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
def caller(address, blocks=True, bound=None):
    with socket.socket() as s:
        if bound: s.bind((bound, 0))
        s.setblocking(blocks)
        s.connect_ex((address, ${here.port}))
        if not blocks: select.select([], [s], [])
        s.setblocking(True)
        return s.recv(64).decode(), s.getpeername()[0], s.getsockname()[0]
print(*caller("127.8.0.3")); print(*caller("127.200.1.2", blocks=False)); print(*caller("127.8.0.3", bound="127.0.0.5"))
print(tcp("127.8.0.3", ${here.otherPort}), tcp("127.255.0.1", ${here.port}), tcp("127.7.0.1", ${here.port}))`);
    expect(output.split("\n")).toEqual([
      "the listed port 127.0.0.1 127.8.0.3",
      "the listed port 127.0.0.1 127.200.1.2",
      // The command's socket was bound to 127.0.0.5; the one that replaces it was not.
      `the listed port 127.0.0.1 ${borrow ? "127.0.0.5" : "127.8.0.3"}`,
      "EACCES EACCES EACCES",
    ]);
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
      { filter: "asking" },
    );
    expect(output.split("\n")).toEqual(["True", "0 True", "the listed port", "the listed port", "below"]);
  });

  test("the commands' own servers are connected to, of both kinds, where koda can know them", async () => {
    await using here = await surroundings({ borrow, tcp: "any", abstract: true });
    const { output } = await here.run(`
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    server, client = socket.socket(socket.AF_UNIX, kind), socket.socket(socket.AF_UNIX, kind)
    server.bind(f"own-{int(kind)}"); server.listen()
    client.connect(f"own-{int(kind)}")
    peer, _ = server.accept()
    peer.send(b"one"); peer.send(b"two")
    print(client.recv(3).decode())
`);
    expect(output).toMatch(borrow ? /^one\none$/ : /PermissionError: \[Errno 13\]/);
  });

  test.skipIf(!borrow)("a full queue is waited for by those who wait, and no one else", async () => {
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
});
