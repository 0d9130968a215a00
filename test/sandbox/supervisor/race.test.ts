import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { until } from "../../support/until.ts";
import { onLinux, surroundings, ways } from "./surroundings.ts";

onLinux.each(ways)("connecting %s", (_, borrow) => {
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

  test("swapping what a link leads to, again and again, lets nobody out", async () => {
    await using here = await surroundings({ borrow });
    const { output } = await here.run(`
os.symlink("s", "now"); os.symlink("sub", "where")
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
    // Which of the two ways it sees is luck; the other side is never reached.
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
    await until(() => openFiles() <= before);
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
    await until(() => openFiles() <= before);
  });
});

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}
