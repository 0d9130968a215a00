import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dialProxy, portOf, type Ports } from "./egress.ts";
import { until } from "./until.ts";

/** A proxy that others wrote, from a Debian package; it listens for one protocol only. */
export type Peer = {
  program: string;
  /** Its arguments, in the foreground on loopback. */
  args(place: Place): string[];
};

type Place = { port: number; directory: string };

/** Where no peer lets anybody go that can be told so. */
export const forbiddenHost = "127.0.0.2";

export function squid({ port, directory }: Place): string[] {
  const text =
    `http_port 127.0.0.1:${port}\nacl forbidden dst ${forbiddenHost}\nhttp_access deny forbidden\n` +
    `http_access allow all\ncache deny all\naccess_log none\ncache_log /dev/null\npid_filename none\n` +
    `coredump_dir ${directory}\nshutdown_lifetime 0 seconds\n`;
  return ["-N", "-f", write(directory, "config", text)];
}

export function tinyproxy({ port, directory }: Place, more = ""): string[] {
  const filter = write(directory, "filter", `^${forbiddenHost.replaceAll(".", "\\.")}$\n`);
  const text = `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nFilter "${filter}"\n${more}`;
  return ["-d", "-c", write(directory, "config", text)];
}

export function danted({ port, directory }: Place): string[] {
  // Only root can become somebody else, and has to.
  const users = process.getuid?.() === 0 ? "user.privileged: root\nuser.unprivileged: nobody\n" : "";
  const text =
    `logoutput: /dev/null\ninternal: 127.0.0.1 port = ${port}\nexternal: 127.0.0.1\n${users}` +
    `clientmethod: none\nsocksmethod: none\nclient pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }\n` +
    `socks block { from: 0.0.0.0/0 to: ${forbiddenHost}/32 }\nsocks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n`;
  return ["-f", write(directory, "config", text), "-p", join(directory, "pid")];
}

export function microsocks({ port }: Place): string[] {
  return ["-i", "127.0.0.1", "-p", `${port}`];
}

function write(directory: string, name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const path = `${process.env.PATH}:/usr/sbin:/usr/bin`;

/** Says that tests are skipped when it is. */
export function isMissing({ program }: Peer): boolean {
  if (Bun.which(program, { PATH: path }) !== null) return false;
  console.error(`skipped: tests with ${program}: it is not installed`);
  return true;
}

export async function startPeer({ program, args }: Peer): Promise<AsyncDisposable & Ports & { pid: number }> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "koda-test-"));
  const child = Bun.spawn([Bun.which(program, { PATH: path }) ?? program, ...args({ port, directory })], {
    cwd: directory,
    env: { ...process.env, TMPDIR: directory },
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
  return { pid: child.pid, httpPort: port, socksPort: port, [Symbol.asyncDispose]: end };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
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
