import { expect, test } from "bun:test";
import { constants } from "node:os";
import type { Address } from "../../../lib/sandbox/supervisor/address.ts";
import { whyNotListen } from "../../../lib/sandbox/supervisor/listening.ts";
import { until } from "../../support/until.ts";
import { onLinux, surroundings as usual } from "./surroundings.ts";

const { EACCES, EINVAL } = constants.errno;

/** Programs that are asked about it: in the machine's network. */
async function surroundings(...changes: Parameters<typeof usual>) {
  const here = await usual(...changes);
  const run: typeof here.run = (program, options = { filter: "whole" }) => here.run(`${prelude}\n${program}`, options);
  return { ...here, run };
}

/** How a listen() went, with a socket that has an address or not. */
const prelude = `
libc = ctypes.CDLL(None, use_errno=True)
def listens(s, address=None, backlog=5):
    try:
        if address is not None: s.bind(address)
        s.listen(backlog)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "listens" if s.family != socket.AF_UNIX or s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else "does not"
tcp4, tcp6 = (lambda: socket.socket()), (lambda: socket.socket(socket.AF_INET6))
unix_socket = lambda kind=socket.SOCK_STREAM: socket.socket(socket.AF_UNIX, kind)
`;

const bytes = new Uint8Array();
const rules = { tcp: [{ address: "127.0.0.1", port: 3128 }], abstract: false };
const own = { tcp: "any", abstract: true } as const;
const addresses: [name: string, Address | number, why: ReturnType<typeof whyNotListen>][] = [
  ["a file", { family: "path", path: "s" }, undefined],
  ["no file", { family: "abstract", name: "n", bytes }, refused('the abstract unix socket "@n"')],
  ["every address", { family: "inet", host: "0.0.0.0", port: 80, bytes }, refused("0.0.0.0:80")],
  ["the address of a proxy", { family: "inet", host: "127.0.0.1", port: 3128, bytes }, refused("127.0.0.1:3128")],
  ["loopback of IPv6", { family: "inet6", host: "::1", port: 80, bytes }, refused("[::1]:80")],
];

function refused(where: string) {
  return { errno: EACCES, what: `listening on ${where}` };
}

test.each(addresses)("whether %s may be listened at", (_, address, why) => {
  expect(whyNotListen(address, rules)).toEqual(why);
  expect(whyNotListen(address, own)).toBeUndefined();
});

test("what has no address is not listened at, in whatever network", () => {
  for (const each of [rules, own]) {
    expect(whyNotListen(-EINVAL, each)).toEqual({ errno: EINVAL });
    expect(whyNotListen({ family: "unspecified", bytes }, each)).toEqual({ errno: EINVAL });
  }
});

onLinux("a listen() that is asked about", () => {
  test("is refused to TCP, with an address or without, and said", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
print(listens(tcp4(), ("127.0.0.1", 0)), listens(tcp4(), ("0.0.0.0", 0)), listens(tcp4()))
print(listens(tcp6(), ("::1", 0)), listens(tcp6(), ("::", 0)), listens(tcp6()))
s = tcp4(); s.bind(("127.0.0.1", 0)); listens(s)
print(tcp(*s.getsockname()), s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), s.getsockname()[1])
`);
    const [first, second, third = ""] = output.split("\n");
    expect([first, second]).toEqual(["EACCES EACCES EACCES", "EACCES EACCES EACCES"]);
    expect(third).toMatch(/^EACCES 0 \d+$/);
    await until(() => here.refusals.length >= 8);
    const said = here.refusals.map(({ what }) => what);
    expect(said).toContain(`listening on 127.0.0.1:${third.split(" ").at(-1)}`);
    expect(said).toContain("listening on 0.0.0.0:0");
    expect(said).toContain("listening on [::]:0");
  });

  test("is done for sockets in the file system, of both kinds, by any name that they have", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
os.chdir("sub")
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for address in (f"own-{int(kind)}", INSIDE + f"/own-{int(kind)}", "../" * 10 + f"..{INSIDE}/far-{int(kind)}"):
        s = unix_socket(kind)
        print(listens(s, address), end=" ")
        client = unix_socket(kind); client.connect(address)
        s.accept()[0].send(b"own"); print(client.recv(3).decode(), end=" ")
longest, address = unix_socket(), b"\\1\\0" + b"x" * 108
libc.bind(longest.fileno(), address, len(address)); print(listens(longest), os.path.exists("x" * 108))
`);
    expect(output).toBe(`${"listens own ".repeat(6)}listens True`);
    expect(here.refusals).toEqual([]);
  });

  test("has the backlog that was asked for, and can change it", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
def room(path):
    waiting = []
    while True:
        s = unix_socket(); s.setblocking(False)
        if s.connect_ex(path) != 0: return len(waiting)
        waiting.append(s)
server = unix_socket()
listens(server, "queue", 3); print(room("queue"), end=" ")
server.listen(6); print(room("queue"), end=" ")
# Fewer than none are as many as the system allows.
other = unix_socket(); other.bind("other"); print(libc.listen(other.fileno(), -1), end=" ")
for _ in range(50): client = unix_socket(); client.setblocking(False); client.connect("other")
print("many")
`);
    // The kernel takes one more than the backlog; three more had come by then.
    expect(output).toBe("4 3 0 many");
  });

  test("is refused to a name without a file, unless names are the commands' own", async () => {
    await using here = await surroundings();
    const program = `
print(listens(unix_socket(), "\\0" + INSIDE), listens(unix_socket(), ""), listens(tcp4(), ("127.0.0.1", 0)))`;
    expect((await here.run(program)).output).toBe("EACCES EACCES EACCES");
    await until(() => here.refusals.length >= 3);
    expect(here.refusals[0]?.what).toBe(`listening on the abstract unix socket "@${here.inside}"`);
    await using free = await surroundings({ tcp: "any", abstract: true });
    expect((await free.run(program)).output).toBe("listens listens listens");
  });

  test("makes no more of a socket than the kernel would", async () => {
    await using here = await surroundings();
    const { output } = await here.run(
      `
def raw(fd):
    libc.listen(fd, 1)
    return errno.errorcode[ctypes.get_errno()]
pair = socket.socketpair()
print(raw(999), raw(-1), raw(os.pipe()[0]), listens(unix_socket()), listens(pair[0]))
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); datagrams.bind("datagrams")
kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
print(listens(datagrams), raw(kernel.fileno()))
connected = unix_socket(); connected.connect("s"); print(listens(connected), connected.recv(64).decode())`,
      { filter: "asking" },
    );
    expect(output).toMatch(
      /^EBADF EBADF (ENOTSOCK|EBADF) EINVAL EINVAL\n(EOPNOTSUPP|ENOTSUP) EAFNOSUPPORT\nEINVAL inside$/,
    );
  });

  test("is refused where the kernel lets nobody have a command's socket", async () => {
    await using here = await surroundings({ borrow: false });
    const { output } = await here.run(`
print(listens(unix_socket(), "own"), listens(tcp4(), ("127.0.0.1", 0)))`);
    expect(output).toBe("EPERM EPERM");
    await until(() => here.refusals.length >= 2);
    expect(here.refusals[0]?.what).toContain("listening");
  });

  test("serves a program that waits for many at once", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
async def serve(reader, writer):
    writer.write(b"hello " + await reader.readline()); await writer.drain(); writer.close()
async def ask(n):
    reader, writer = await asyncio.open_unix_connection("own.sock")
    writer.write(f"{n}\\n".encode()); return (await reader.read()).decode().strip()
async def main():
    async with await asyncio.start_unix_server(serve, "own.sock"):
        print(await asyncio.gather(*map(ask, range(20))) == [f"hello {n}" for n in range(20)])
    try: await asyncio.start_server(serve, "127.0.0.1", 0)
    except OSError as error: print(errno.errorcode[error.errno])
asyncio.run(main())`);
    expect(output).toBe("True\nEACCES");
  });

  test("never listens at another socket than the one that was looked at, however it is swapped", async () => {
    await using here = await surroundings();
    const { output } = await here.run(`
files, ports, ended = [], [], threading.Event()
place = os.dup(0)
def swap():
    while not ended.is_set():
        for s in (files[-1], ports[-1]): os.dup2(s.fileno(), place)
def fresh():
    files.append(unix_socket()); files[-1].bind(f"own-{len(files)}")
    ports.append(tcp4()); ports[-1].bind(("127.0.0.1", 0))
fresh()
thread = threading.Thread(target=swap); thread.start()
results = set()
for _ in range(150):
    fresh()
    results.add(libc.listen(place, 1))
ended.set(); thread.join()
listening = lambda all: sum(s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for s in all)
print(listening(ports), results <= {0, -1}, listening(files) > 0 or results == {-1})
`);
    expect(output).toBe("0 True True");
  });
});
