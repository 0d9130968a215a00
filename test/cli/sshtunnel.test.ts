import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { unlessRefused } from "../../lib/errors.ts";
import { echo, openProxies, startOrigin, type Opened } from "../support/egress.ts";
import { binary } from "../support/koda.ts";
import { until } from "../support/until.ts";

/** `koda ssh-tunnel` with pipes at both ends, as ssh starts it. */
function startTunnel(proxyPort: number, host: string, port: number) {
  return Bun.spawn([binary, "ssh-tunnel", "--proxy", `127.0.0.1:${proxyPort}`, host, String(port)], {
    env: { PATH: process.env.PATH ?? "" },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
}

function tunnelTo(opened: Opened, port: number, host = "origin.test") {
  return startTunnel(opened.proxies.socksPort, host, port);
}

type Tunnel = ReturnType<typeof startTunnel>;

async function ending(tunnel: Tunnel) {
  const [stdout, stderr] = await Promise.all([tunnel.stdout.text(), tunnel.stderr.text(), tunnel.exited]);
  return { stdout, stderr, exit: tunnel.exitCode };
}

/** Writes all of it, at the pace at which it is taken, and then the end. */
async function pour(tunnel: Tunnel, bytes: Uint8Array): Promise<void> {
  const step = 64 * 1024;
  for (let at = 0; at < bytes.length; at += step) {
    tunnel.stdin.write(bytes.subarray(at, at + step));
    await tunnel.stdin.flush();
  }
  await tunnel.stdin.end();
}

function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const hasIpv6 = unlessRefused(() => readFileSync("/proc/net/if_inet6", "utf8"))?.includes(" lo\n") === true;

describe("koda ssh-tunnel", () => {
  test.each(["origin.test", "ORIGIN.test.", "127.0.0.1"])("passes bytes to %s and back", async (host) => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port, host);
    tunnel.stdin.write("SSH-2.0-test\r\n");
    await tunnel.stdin.end();
    expect(await ending(tunnel)).toEqual({ stdout: "SSH-2.0-test\r\n", stderr: "", exit: 0 });
    const { host: asked } = opened.requests[0] ?? {};
    expect(asked).toBe(host === "127.0.0.1" ? host : "origin.test");
  });

  test.skipIf(!hasIpv6)("reaches an address of IPv6", async () => {
    const server = createServer((socket) => socket.end("six"));
    await new Promise<void>((listening) => server.listen(0, "::1", listening));
    const { port } = server.address() as { port: number };
    await using opened = await openProxies([], { allow: [`[::1]:${port}`] });
    const tunnel = tunnelTo(opened, port, "::1");
    await tunnel.stdin.end();
    expect(await ending(tunnel)).toEqual({ stdout: "six", stderr: "", exit: 0 });
    server.close();
  });

  test("lets the target speak first, and go on after our end", async () => {
    const heard: string[] = [];
    await using origin = await startOrigin((socket) => {
      socket.write("banner ");
      socket.on("data", (chunk: Buffer) => heard.push(chunk.toString()));
      socket.once("end", () => socket.end(`and the rest, after "${heard.join("")}"`));
    });
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port);
    tunnel.stdin.write("our end");
    await tunnel.stdin.end();
    expect((await ending(tunnel)).stdout).toBe('banner and the rest, after "our end"');
  });

  test("tells the target's end at once, and still sends what comes after it", async () => {
    const { promise: heard, resolve } = Promise.withResolvers<string>();
    await using origin = await startOrigin((socket) => {
      let said = "";
      socket.end("goodbye");
      socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
      socket.once("end", () => resolve(said));
    });
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port);
    // Settles only when standard output has ended, while the tunnel's input is still open.
    expect(await tunnel.stdout.text()).toBe("goodbye");
    tunnel.stdin.write("so long");
    await tunnel.stdin.end();
    expect(await heard).toBe("so long");
    expect(await tunnel.exited).toBe(0);
  });

  test("loses nothing of 20 MB in both directions at once", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port);
    const sent = randomBytes(20 * 1024 * 1024);
    const [, received] = await Promise.all([pour(tunnel, sent), tunnel.stdout.bytes()]);
    expect(received.length).toBe(sent.length);
    expect(hashOf(received)).toBe(hashOf(sent));
    expect(await tunnel.exited).toBe(0);
  });

  test("ends when whoever reads has gone", async () => {
    await using origin = await startOrigin((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.write("x".repeat(65_536)));
      };
      socket.on("drain", more);
      more();
    });
    await using opened = await openProxies([origin.port]);
    // The shell's end closes the pipe between them; the tunnel's own input stays open all the time.
    const line = `sleep 1000 | { "$0" ssh-tunnel --proxy 127.0.0.1:${opened.proxies.socksPort} origin.test ${origin.port}; echo "exit $?" >&2; kill 0; } | head -c 5`;
    const shell = Bun.spawn(["setsid", "/bin/sh", "-c", line, binary], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited]);
    expect(stdout).toBe("xxxxx");
    expect(stderr).toBe("exit 1\n");
  });

  test("says so when the target breaks off", async () => {
    await using origin = await startOrigin((socket) => socket.once("data", () => socket.resetAndDestroy()));
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port);
    tunnel.stdin.write("hello");
    await tunnel.stdin.flush();
    const { stderr, exit } = await ending(tunnel);
    expect(stderr).toMatch(/^egress: the connection to origin\.test:\d+ was lost \(ECONNRESET\)\n$/);
    expect(exit).toBe(1);
  });

  test("a killed tunnel is the target's end", async () => {
    await using origin = await startOrigin((socket) => void socket.resume());
    await using opened = await openProxies([origin.port]);
    const tunnel = tunnelTo(opened, origin.port);
    await until(() => origin.connections.size > 0);
    const [connection] = origin.connections;
    const gone = new Promise((resolve) => connection?.once("end", resolve).once("close", resolve));
    tunnel.kill("SIGKILL");
    await gone;
    expect(await tunnel.exited).toBe(137);
  });
});

describe("koda ssh-tunnel gives one line and exit 1", () => {
  test("for a host that is not allowed, with the flag that would allow it", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([]);
    expect(await ending(tunnelTo(opened, origin.port))).toEqual({
      stdout: "",
      stderr: `egress: origin.test:${origin.port} refused: the rules do not allow it (--allow-net origin.test:${origin.port} does, unless --deny-net names it)\n`,
      exit: 1,
    });
    expect(opened.requests).toMatchObject([{ via: "socks", host: "origin.test", verdict: "refused" }]);
    expect(origin.connections.size).toBe(0);
  });

  test("where nobody listens", async () => {
    const origin = await startOrigin(echo);
    await origin[Symbol.asyncDispose]();
    await using opened = await openProxies([origin.port]);
    const { stderr, exit } = await ending(tunnelTo(opened, origin.port));
    expect({ stderr, exit }).toEqual({
      stderr: `egress: origin.test:${origin.port} failed: connection refused\n`,
      exit: 1,
    });
  });

  test.each([
    ["which is not there", undefined, /^egress: the proxy 127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\)\n$/],
    ["which leaves", Buffer.alloc(0), /does not answer \("the connection was closed"\)\n$/],
    ["which leaves in mid-word", Buffer.of(5, 0, 5, 0), /does not answer \("the connection was closed"\)\n$/],
    ["which is another protocol's", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), /does not speak SOCKS5/],
    ["which wants credentials", Buffer.of(5, 0xff), /does not speak SOCKS5 without credentials\n$/],
  ])("for a proxy %s", async (_, answer, complaint) => {
    const proxy = await startOrigin((socket) => socket.end(answer ?? ""));
    if (answer === undefined) await proxy[Symbol.asyncDispose]();
    const { stdout, stderr, exit } = await ending(startTunnel(proxy.port, "origin.test", 22));
    expect({ stdout, exit }).toEqual({ stdout: "", exit: 1 });
    expect(stderr).toMatch(complaint);
    expect(stderr.split("\n")).toHaveLength(2);
    await proxy[Symbol.asyncDispose]();
  });
});

describe("its arguments are read strictly", () => {
  test.each([
    [[], "usage: ssh-tunnel"],
    [["--proxy", "127.0.0.1:1080", "host"], "usage: ssh-tunnel"],
    [["--proxy", "127.0.0.1:1080", "host", "22", "more"], "usage: ssh-tunnel"],
    [["--help"], "usage: ssh-tunnel"],
    [["--proxy", "127.0.0.1", "host", "22"], "it names no port"],
    [["--proxy", "127.0.0.1:1080", "-oProxyCommand=x", "22"], "is not a host"],
    [["--proxy", "127.0.0.1:1080", "127.1", "22"], "is not a host"],
    [["--proxy", "127.0.0.1:1080", "host", "0"], "is not a port"],
    [["--proxy", "127.0.0.1:1080", "host", "ssh"], "is not a port"],
  ])("%p", (args, complaint) => {
    const { exitCode, stderr, stdout } = Bun.spawnSync([binary, "ssh-tunnel", ...args]);
    expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr.toString()).toStartWith("koda: ssh-tunnel: ");
    expect(stderr.toString()).toContain(complaint);
  });

  test("and no page, completion or suggestion names it", () => {
    for (const args of [["--help"], ["completions", "bash"], ["completions", "fish"], ["ssh-tunel"], ["sesion"]]) {
      const { stdout, stderr } = Bun.spawnSync([binary, ...args]);
      expect(`${stdout.toString()}${stderr.toString()}`.replaceAll("ssh-tunel", "")).not.toContain("tunnel");
    }
  });
});
