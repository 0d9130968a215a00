import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chain, UpstreamFailure } from "../../lib/egress/chain.ts";
import { parseAuthority } from "../../lib/egress/host.ts";
import { parseUpstream } from "../../lib/egress/upstream.ts";
import { dialProxy, echo, portOf, startOrigin, until } from "../support/egress.ts";

/** Proxies that others wrote, as the user's own: what they take and say is not what we imagined. */
type Peer = {
  program: string;
  scheme: "http" | "socks5h";
  credentials: string;
  /** Its arguments, in the foreground on loopback; files lie in the directory. */
  args(port: number, directory: string): string[];
};

const path = `${process.env.PATH}:/usr/sbin:/usr/bin`;

function config(directory: string, text: string): string {
  const file = join(directory, "config");
  writeFileSync(file, text);
  return file;
}

const peers: readonly Peer[] = [
  {
    program: "squid",
    scheme: "http",
    credentials: "",
    args: (port, directory) => [
      "-N",
      "-f",
      config(
        directory,
        `http_port 127.0.0.1:${port}\nhttp_access allow all\ncache deny all\naccess_log none\ncache_log /dev/null\n` +
          `pid_filename none\ncoredump_dir ${directory}\nshutdown_lifetime 0 seconds\n`,
      ),
    ],
  },
  {
    program: "tinyproxy",
    scheme: "http",
    credentials: "user:%70ass@",
    args: (port, directory) => [
      "-d",
      "-c",
      config(directory, `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nBasicAuth user pass\n`),
    ],
  },
  {
    program: "microsocks",
    scheme: "socks5h",
    credentials: "user:p%40ss@",
    args: (port) => ["-i", "127.0.0.1", "-p", `${port}`, "-u", "user", "-P", "p@ss"],
  },
];

async function startPeer({ program, args }: Peer) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));

  const directory = mkdtempSync(join(tmpdir(), "koda-test-"));
  const found = Bun.which(program, { PATH: path }) ?? program;
  const child = Bun.spawn([found, ...args(port, directory)], {
    cwd: directory,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  const end = async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await until(async () => child.exitCode !== null || (await answers(port)), `the start of ${program}`);
  } catch (error) {
    await end();
    throw error;
  }
  return { port, [Symbol.asyncDispose]: end };
}

async function answers(port: number): Promise<boolean> {
  const socket = dialProxy(port);
  const isThere = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isThere;
}

for (const peer of peers) {
  const { program, scheme, credentials } = peer;
  const isMissing = Bun.which(program, { PATH: path }) === null;
  if (isMissing) console.error(`skipped: ${program} as the user's own proxy: it is not installed`);

  describe.skipIf(isMissing)(`${program} as the user's own proxy`, () => {
    const through = (port: number, who: string) => {
      const proxy = parseUpstream({ HTTPS_PROXY: `${scheme}://${who}127.0.0.1:${port}` })?.tunnel;
      if (proxy === undefined) throw new Error("there is no proxy in the URL");
      // This machine is never reached through a proxy; what the proxy is asked for is the same.
      return (target: number) => {
        const wish = parseAuthority(`127.0.0.1:${target}`);
        if ("fault" in wish) throw new Error(wish.fault);
        return chain(wish, proxy, AbortSignal.timeout(20_000));
      };
    };

    test("opens a tunnel, on which all bytes pass", async () => {
      await using there = await startPeer(peer);
      await using origin = await startOrigin(echo);
      const socket = await through(there.port, credentials)(origin.port);
      const data = Buffer.alloc(5_000_000, "0123456789abcdef!");
      socket.write(data);
      let heard = Buffer.alloc(0);
      const whole = Promise.withResolvers<void>();
      socket.on("data", (chunk: Buffer) => {
        heard = Buffer.concat([heard, chunk]);
        if (heard.length >= data.length) whole.resolve();
      });
      await whole.promise;
      expect(heard.equals(data)).toBe(true);
      socket.destroy();
    });

    test.skipIf(credentials === "")("refuses wrong credentials, and is named", async () => {
      await using there = await startPeer(peer);
      const failure = await through(there.port, "user:wrong@")(9).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(String(failure)).toContain(`127.0.0.1:${there.port}`);
      expect(String(failure)).not.toContain("wrong");
    });

    test("cannot reach a port where nobody listens, and is named", async () => {
      await using there = await startPeer(peer);
      const origin = await startOrigin(echo);
      await origin[Symbol.asyncDispose]();
      const failure = await through(there.port, credentials)(origin.port).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expect(String(failure)).toContain(`127.0.0.1:${there.port}`);
    });
  });
}
