import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, connectWay, dialProxy, portOf, socksWay, until, type Ports, type Way } from "../test/support/egress.ts";
import { binary } from "../test/support/koda.ts";
import { type Figure, interleaved, median } from "./measure.ts";

const megabyte = 1024 * 1024;
const rounds = 5;
const downMegabytes = 1024;
const upMegabytes = 512;
const idleTunnels = 1000;
const host = "127.0.0.1";

type Process = { pid: number; [Symbol.asyncDispose](): Promise<void> };
type Proxy = Process & Ports;
/** How the server is reached: a connection that is ready for its first byte. */
type Open = () => Promise<Socket>;

/** What a proxy costs beside none at all, and beside squid where that is installed. Server and proxies are processes of their own. */
export async function measure(): Promise<Figure[]> {
  await using origin = await startOrigin();
  await using koda = await startKoda(origin.port);
  const through = (way: Way, proxy: Ports) => async () => (await ask(way, proxy, origin.port, { host })).socket;
  const direct: Open = async () => {
    const socket = dialProxy(origin.port);
    await once(socket, "connect");
    return socket;
  };
  const ways: (readonly [string, Open])[] = [
    ["CONNECT", through(connectWay, koda)],
    ["SOCKS5", through(socksWay, koda)],
  ];
  await using squid = await startSquid(origin.port);
  if (squid !== undefined) ways.push(["CONNECT by squid", through(connectWay, squid)]);

  return [
    ...(await speeds(`1 GB down`, ways, direct, download)),
    ...(await speeds(`512 MB up`, ways, direct, upload)),
    await forwardSpeed(origin.port, koda, direct),
    ...(await setUps(ways, direct)),
    ...(await slowReaders(koda, ways.slice(0, 2))),
    await idle("CONNECT", connectWay, origin.port),
    await idle("SOCKS5", socksWay, origin.port),
  ];
}

async function speeds(
  what: string,
  ways: readonly (readonly [string, Open])[],
  direct: Open,
  pass: (socket: Socket) => Promise<number>,
): Promise<Figure[]> {
  const speedOf = (open: Open) => async () => {
    const socket = await open();
    const start = performance.now();
    const bytes = await pass(socket);
    return bytes / 1e6 / ((performance.now() - start) / 1000);
  };
  const [floors = [], ...speeds] = await interleaved(rounds, speedOf(direct), ...ways.map(([, open]) => speedOf(open)));
  const floor = median(floors);
  return ways.map(([name], index): Figure => {
    const value = median(speeds[index] ?? []);
    const isOurs = !name.includes("squid");
    return {
      what: `${what}, ${name}`,
      value,
      unit: "MB/s",
      floor,
      bar: isOurs ? "0.4 x direct" : "",
      holds: !isOurs || value >= 0.4 * floor,
    };
  });
}

async function download(socket: Socket): Promise<number> {
  socket.write(`d${downMegabytes}`);
  return await drain(socket);
}

async function upload(socket: Socket): Promise<number> {
  const chunk = Buffer.alloc(256 * 1024);
  let left = upMegabytes * megabyte;
  socket.write("u");
  const more = () => {
    while (left > 0) {
      left -= chunk.length;
      if (!socket.write(chunk)) return void socket.once("drain", more);
    }
    socket.end();
  };
  more();
  await drain(socket);
  return upMegabytes * megabyte;
}

async function drain(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();
  await once(socket, "end");
  socket.destroy();
  return bytes;
}

async function forwardSpeed(port: number, koda: Ports, direct: Open): Promise<Figure> {
  const forwarded: Open = async () => {
    const socket = dialProxy(koda.httpPort);
    await once(socket, "connect");
    return socket;
  };
  const speedOf = (open: Open, url: string) => async () => {
    const socket = await open();
    const start = performance.now();
    socket.write(`GET ${url}/w${downMegabytes} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return (await drain(socket)) / 1e6 / ((performance.now() - start) / 1000);
  };
  const [floors = [], speeds = []] = await interleaved(
    rounds,
    speedOf(direct, ""),
    speedOf(forwarded, `http://${host}:${port}`),
  );
  return {
    what: "1 GB down, a plain request",
    value: median(speeds),
    unit: "MB/s",
    floor: median(floors),
    bar: "",
    holds: true,
  };
}

async function setUps(ways: readonly (readonly [string, Open])[], direct: Open): Promise<Figure[]> {
  const timeOf = (open: Open) => async () => {
    const start = performance.now();
    const socket = await open();
    socket.write("x");
    socket.resume();
    await once(socket, "data");
    const ms = performance.now() - start;
    socket.destroy();
    return ms;
  };
  const [floors = [], ...times] = await interleaved(1000, timeOf(direct), ...ways.map(([, open]) => timeOf(open)));
  return ways.map(([name], index): Figure => {
    const value = median(times[index] ?? []);
    const isOurs = !name.includes("squid");
    return {
      what: `a tunnel and one byte back, ${name}`,
      value,
      unit: "ms",
      floor: median(floors),
      bar: isOurs ? "0.6 ms" : "",
      holds: !isOurs || value <= 0.6,
    };
  });
}

/** What a slow reader adds to the most memory that passing as much at full speed has taken. */
async function slowReaders(koda: Proxy, ways: readonly (readonly [string, Open])[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, open] of ways) {
    const before = memoryMb(koda.pid, "VmHWM");
    const socket = await open();
    socket.write(`d${downMegabytes}`);
    socket.on("data", () => {
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    socket.resume();
    await once(socket, "end");
    socket.destroy();
    const value = memoryMb(koda.pid, "VmHWM") - before;
    figures.push({ what: `1 GB to a slow reader, ${name}`, value, unit: "MB", bar: "20 MB", holds: value < 20 });
  }
  return figures;
}

async function idle(name: string, way: Way, port: number): Promise<Figure> {
  await using koda = await startKoda(port);
  const open = async () => {
    const { socket } = await ask(way, koda, port, { host });
    socket.write("x");
    await once(socket.resume(), "data");
    return socket;
  };
  for (let n = 0; n < 100; n++) (await open()).destroy();
  const before = memoryMb(koda.pid);
  const tunnels: Socket[] = [];
  while (tunnels.length < idleTunnels) tunnels.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  const each = ((memoryMb(koda.pid) - before) * 1000) / idleTunnels;
  for (const tunnel of tunnels) tunnel.destroy();
  return { what: `an idle tunnel of ${idleTunnels}, ${name}`, value: each, unit: "KB", bar: "30 KB", holds: each < 30 };
}

function memoryMb(pid: number, field: "VmRSS" | "VmHWM" = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) / 1000;
}

async function startOrigin(): Promise<Process & { port: number }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "floor/origin.ts")], { stdout: "pipe" });
  return { ...processOf(child), port: Number(await firstLine(child.stdout)) };
}

async function startKoda(port: number): Promise<Proxy> {
  const home = mkdtempSync(join(tmpdir(), "koda-bench-"));
  const child = Bun.spawn([binary, "proxy", "--json", "--allow-net", `${host}:${port}`], {
    env: { HOME: home, PATH: process.env.PATH ?? "" },
    cwd: home,
    stdout: "pipe",
    stderr: "ignore",
  });
  const { http_port, socks_port } = JSON.parse(await firstLine(child.stdout)) as {
    http_port: number;
    socks_port: number;
  };
  rmSync(home, { recursive: true });
  return { ...processOf(child), httpPort: http_port, socksPort: socks_port };
}

/** Undefined where there is none to compare with. */
async function startSquid(port: number): Promise<Proxy | undefined> {
  const squid = Bun.which("squid", { PATH: `${process.env.PATH}:/usr/sbin` });
  if (squid === null) return undefined;
  const httpPort = await freePort();
  const directory = mkdtempSync(join(tmpdir(), "koda-bench-"));
  const config = join(directory, "squid.conf");
  writeFileSync(
    config,
    `http_port ${host}:${httpPort}\nacl origin port ${port}\nhttp_access allow origin\nhttp_access deny all\ncache deny all\n` +
      `access_log none\ncache_log /dev/null\npid_filename none\ncoredump_dir ${directory}\nshutdown_lifetime 0 seconds\n`,
  );
  const child = Bun.spawn([squid, "-N", "-f", config], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    cwd: directory,
  });
  await until(async () => await answers(httpPort), "the start of squid");
  rmSync(directory, { recursive: true });
  return { ...processOf(child), httpPort, socksPort: 0 };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const port = portOf(server);
  server.close();
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

function processOf(child: Bun.Subprocess): Process {
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\n")) break;
  }
  return text.slice(0, text.indexOf("\n"));
}
