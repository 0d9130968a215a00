import { expect, test } from "bun:test";
import { linkSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { evaluateAsNobody, isRoot, nobody } from "../../support/nobody.ts";
import { until } from "../../support/until.ts";
import { greeter, supervised } from "./supervised.ts";
import { onLinux, surroundings } from "./surroundings.ts";

const support = resolve("test/sandbox/supervisor/supervised.ts");

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
    expect((await here.run(program, { filter: "asking" })).output).toBe("EPERM EPERM\nEPERM");
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
    await until(() => here.refusals.length > 0);
    expect(here.refusals[0]).toEqual({
      pid: pid ?? 0,
      session: session ?? 0,
      what: `the unix socket "${join(here.outside, "s")}"`,
    });
    expect(here.refusals.length).toBeLessThan(1000);
  });

  test("answers each command by the rules that it was started with", async () => {
    await using here = await surroundings();
    const other = { ...here.rules, sockets: [here.outside] };
    const program = `print(*{(unix("s"), unix(OUTSIDE + "/s")) for _ in range(50)})`;
    const started = [here.rules, other, here.rules, other].map((rules) => here.run(program, { rules }));
    const [usual, swapped] = ["('inside', 'EACCES')", "('EACCES', 'outside')"];
    const output = (await Promise.all(started)).map((ended) => ended.output);
    expect(output).toEqual([usual, swapped, usual, swapped]);
  });

  test("lets go of rules that were long not asked for, but not of their commands", async () => {
    await using here = await surroundings();
    const early = { ...here.rules, sockets: [here.outside] };
    const program = `
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("there", flush=True); signal.sigwait([signal.SIGUSR1])
print(unix("s"), unix(OUTSIDE + "/s"))`;
    const command = here.start(program, { rules: early });
    const reader = command.stdout.getReader();
    await reader.read();
    const before = openFiles();
    for (let count = 0; count < 500; count++) here.supervisor.socketFor({ ...here.rules });
    await until(() => openFiles() < before + 100);
    command.kill("SIGUSR1");
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("EACCES outside\n");
    expect((await here.run(`print(unix("s"), unix(OUTSIDE + "/s"))`, { rules: early })).output).toBe("EACCES outside");
  });

  test("starts no command any more once it is closed", async () => {
    const here = await surroundings();
    await here[Symbol.asyncDispose]();
    expect(() => here.supervisor.socketFor(here.rules)).toThrow("the sandbox is closed");
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
  new Supervisor(() => {}).socketFor({ sockets: [], except: [], names: [], tcp: [], abstract: false });
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

function openFiles(): number {
  return readdirSync("/proc/self/fd").length;
}
