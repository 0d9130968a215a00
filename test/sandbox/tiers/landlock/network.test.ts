import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRoot, nobody } from "../../../support/nobody.ts";
import { makePlace, type Place } from "../../../support/place.ts";
import { type OpenTier, openTier, type User, users } from "../../../support/tiers.ts";
import { until } from "../../../support/until.ts";
import { greeter, python } from "../../supervisor/supervised.ts";

/** Each way to connect says how it went, or what the other side said. */
const prelude = `
import errno, os, socket, sys, threading
def attempt(s, address, how="connect"):
    try:
        if how == "connect": s.connect(address)
        else: s.sendto(b"x", 0x20000000, address)
    except OSError as error:
        return errno.errorcode[error.errno]
    return s.recv(64).decode()
def tcp(host, port, family=socket.AF_INET, how="connect"):
    with socket.socket(family) as s: return attempt(s, (host, port), how)
def unix(path):
    with socket.socket(socket.AF_UNIX) as s: return attempt(s, path)
def made(*kind):
    try: socket.socket(*kind).close()
    except OSError as error: return errno.errorcode[error.errno]
    return "made"
`;

async function says(tier: OpenTier, program: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await tier.run([python, "-IS", "-c", `${prelude}\n${program}`], { env });
  return `${stdout}${stderr}`.trim();
}

/** Servers of the test's own: one that commands may connect to, and what lies around it. */
async function openBesideServers(place: Place, user: User) {
  using held = new DisposableStack();
  const proxy = held.use(greeter({ hostname: "127.0.0.1", port: 0 }, "proxy"));
  const { port } = proxy;
  held.use(greeter({ hostname: "127.0.0.2", port }, "same port"));
  held.use(greeter({ hostname: "::1", port }, "same port, IPv6"));
  const other = held.use(greeter({ hostname: "127.0.0.1", port: 0 }, "other port"));
  const tier = await openTier("landlock", place, {
    user,
    circumstances: { endpoints: [{ address: "127.0.0.1", port }] },
  });
  const servers = held.move();
  return {
    tier,
    port,
    other: other.port,
    async [Symbol.asyncDispose]() {
      await tier[Symbol.asyncDispose]();
      servers.dispose();
    },
  };
}

describe.each(users)("in the Landlock tier, as %s,", (user) => {
  test("a command connects to exactly the proxy", async () => {
    await using place = makePlace();
    await using beside = await openBesideServers(place, user);
    const { tier, port, other } = beside;
    expect(tier.backend.network).toBe("proxies");
    const said = await says(
      tier,
      `print(tcp("127.0.0.1", ${port}), tcp("127.0.0.2", ${port}), tcp("127.0.0.1", ${other}), tcp("0.0.0.0", ${port}),
             tcp("::1", ${port}, socket.AF_INET6), tcp("::ffff:127.0.0.1", ${port}, socket.AF_INET6))`,
    );
    expect(said).toBe("proxy EACCES EACCES EACCES EACCES EACCES");
    await until(() => tier.refusals.length >= 5);
    expect(tier.refusals).toContain(`127.0.0.2:${port}`);
    expect(tier.refusals).toContain(`127.0.0.1:${other}`);
  });

  test("a shell connects like any other program, many at a time", async () => {
    await using place = makePlace();
    await using beside = await openBesideServers(place, user);
    const { tier, port, other } = beside;
    const line = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; exec 4<>/dev/tcp/127.0.0.1/${other}`;
    const ran = await Promise.all(Array.from({ length: 8 }, async () => tier.run(["/bin/bash", "-c", line])));
    for (const { exit, stdout, stderr } of ran) {
      expect([exit, stdout]).toEqual([1, "proxy"]);
      expect(stderr).toContain("Permission denied");
    }
  });

  test("there is no way around connect()", async () => {
    await using place = makePlace();
    await using beside = await openBesideServers(place, user);
    const { tier, port, other } = beside;
    const said = await says(
      tier,
      `print(tcp("127.0.0.1", ${other}, how="fastopen"), tcp("127.0.0.1", ${port}, how="fastopen"))
print(made(socket.AF_INET, socket.SOCK_DGRAM), made(socket.AF_INET6, socket.SOCK_DGRAM))
print(made(socket.AF_INET, socket.SOCK_STREAM, 262), made(socket.AF_UNIX, socket.SOCK_DGRAM))
print(made(socket.AF_PACKET, socket.SOCK_RAW), made(40, socket.SOCK_STREAM), made(socket.AF_NETLINK, socket.SOCK_RAW, 15))`,
    );
    expect(said.split("\n")).toEqual([
      "EPERM EPERM",
      "EPERM EPERM",
      "EPROTONOSUPPORT EAFNOSUPPORT",
      "EAFNOSUPPORT EAFNOSUPPORT EAFNOSUPPORT",
    ]);
  });

  test("without a network not even the proxy can be connected to", async () => {
    await using place = makePlace();
    using proxy = greeter({ hostname: "127.0.0.1", port: 0 }, "proxy");
    const endpoints = [{ address: "127.0.0.1", port: proxy.port }];
    const rules = { user, circumstances: { endpoints }, grants: { network: "none" } } as const;
    await using tier = await openTier("landlock", place, rules);
    expect(tier.backend.network).toBe("none");
    expect(await says(tier, `print(made(socket.AF_INET), made(socket.AF_INET6))`)).toBe("EAFNOSUPPORT EAFNOSUPPORT");
  });

  test("a server of a command's own listens at a unix socket in the project, and at nothing else", async () => {
    await using place = makePlace();
    await using tier = await openTier("landlock", place, { user });
    const said = await says(
      tier,
      `
def serve(family, address=None):
    s = socket.socket(family)
    try:
        if address: s.bind(address)
        s.listen()
    except OSError as error: return errno.errorcode[error.errno]
    def answer():
        while True: s.accept()[0].send(b"own")
    threading.Thread(target=answer, daemon=True).start()
    return unix(s.getsockname())
print(serve(socket.AF_UNIX, "own.sock"), serve(socket.AF_UNIX, os.environ["TMPDIR"] + "/own.sock"))
print(serve(socket.AF_UNIX, "../own.sock"), serve(socket.AF_UNIX, "\\0koda-test-${crypto.randomUUID()}"))
print(serve(socket.AF_INET, ("127.0.0.1", 0)), serve(socket.AF_INET, ("0.0.0.0", 0)), serve(socket.AF_INET))
print(serve(socket.AF_INET6, ("::1", 0)), serve(socket.AF_INET6, ("::", 0)), serve(socket.AF_INET6))`,
    );
    expect(said.split("\n")).toEqual(["own own", "EACCES EACCES", "EACCES EACCES EACCES", "EACCES EACCES EACCES"]);
    await until(() => tier.refusals.some((what) => what.startsWith("listening on [::]:")));
  });

  test("a server that anyone could reach is not to be started by the usual programs either", async () => {
    await using place = makePlace();
    await using tier = await openTier("landlock", place, { user });
    const { exit, stderr } = await tier.run([python, "-I", "-m", "http.server", "0"]);
    expect(exit).toBe(1);
    expect(stderr).toContain("PermissionError: [Errno 13] Permission denied");
  });

  test("sockets of others cannot be connected to, wherever they are", async () => {
    await using place = makePlace({}, "/var/tmp");
    const outside = join(dirname(place.project), "outside");
    mkdirSync(outside);
    mkdirSync(join(place.project, ".git"));
    const sockets = [join(outside, "s"), join(place.project, ".git/s"), join(place.project, "s")];
    await using tier = await openTier("landlock", place, { user });
    using held = new DisposableStack();
    for (const path of sockets) {
      held.use(greeter({ unix: path }, "reached"));
      if (isRoot && user === "nobody") chownSync(path, nobody, nobody);
      chmodSync(path, 0o777);
    }
    const name = `koda-test-${crypto.randomUUID()}`;
    held.use(greeter({ unix: `\0${name}` }, "reached"));
    const program = `
os.symlink(os.environ["OUT"], "link")
print(unix(os.environ["OUT"]), unix("link"), unix("../outside/s"), unix("/proc/self/root" + os.environ["OUT"]))
print(unix(".git/s"), unix("\\0${name}"), unix("s"))`;
    expect(await says(tier, program, { OUT: join(outside, "s") })).toBe(
      "EACCES EACCES EACCES EACCES\nEACCES EACCES EACCES",
    );
    await until(() => tier.refusals.some((what) => what.includes(join(outside, "s"))));
  });
});
