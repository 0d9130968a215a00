import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { ask, connectWay, dialProxy, socksWay, type Ports, type Way } from "../test/support/egress.ts";
import { send } from "../test/support/orders.ts";
import { isMissing, squid as squidArgs, startPeer } from "../test/support/peers.ts";
import { firstLine, memoryOf, startProxyProcess } from "../test/support/proxyprocess.ts";
import { slowPassages } from "../test/support/slow.ts";
import { type Figure, interleaved, median } from "./measure.ts";

const rounds = 5;
const downMegabytes = 1024;
const upMegabytes = 512;
const idleTunnels = 1000;
const host = "127.0.0.1";

type Proxy = Ports & { pid: number };
/** A route to the server; `open` gives a connection that is ready for its first byte. */
type Route = { name: string; isOurs: boolean; pid: number; open(): Promise<Socket> };

/**
 * The cost of the proxies, compared with a direct connection, and with squid where it is installed. Server and proxies
 * run in their own processes.
 */
export async function measure(): Promise<Figure[]> {
  await using server = await startServer();
  const { port } = server;
  const figures: Figure[] = [];
  {
    await using koda = await startProxyProcess(`${host}:${port}`);
    await using squid = await startSquid();
    const through = (way: Way, proxy: Proxy, name: string): Route => ({
      name,
      isOurs: proxy === koda,
      pid: proxy.pid,
      open: async () => (await ask(way, proxy, port, { host })).socket,
    });
    const direct = { name: "direct", isOurs: false, pid: server.pid, open: () => connected(port) };
    const routes = [
      through(connectWay, koda, "CONNECT"),
      through(socksWay, koda, "SOCKS5"),
      ...(squid === undefined ? [] : [through(connectWay, squid, "CONNECT by squid")]),
    ];
    figures.push(
      ...(await speeds("1 GB down", { routes, direct, pass: download })),
      ...(await speeds("512 MB up", { routes, direct, pass: upload })),
      await plainSpeed(port, koda),
      ...(await setUps(routes, direct)),
    );
  }
  for (const { name, pass } of slowPassages)
    figures.push(await slow(name, (proxy) => pass({ proxy, port, megabytes: 1024 }), port));
  figures.push(await idle(connectWay, port), await idle(socksWay, port));
  return figures;
}

type Comparison = { routes: readonly Route[]; direct: Route; pass(socket: Socket): Promise<number> };

async function speeds(what: string, { routes, direct, pass }: Comparison): Promise<Figure[]> {
  const run = (route: Route) => async () => {
    const socket = await route.open();
    const [start, cpu] = [performance.now(), cpuMs(route.pid)];
    const bytes = await pass(socket);
    return { speed: bytes / 1e6 / ((performance.now() - start) / 1000), cpu: cpuMs(route.pid) - cpu };
  };
  const [floors = [], ...results] = await interleaved(rounds, run(direct), ...routes.map(run));
  const floor = median(floors.map(({ speed }) => speed));
  const costs = results.map((runs) => median(runs.map(({ cpu }) => cpu)));
  const theirs = costs[routes.findIndex(({ isOurs }) => !isOurs)];
  return routes.flatMap(({ name, isOurs }, index): Figure[] => {
    const value = median(results[index]?.map(({ speed }) => speed) ?? []);
    const speed = { what: `${what}, ${name}`, value, unit: "MB/s", floor };
    if (!isOurs) return [{ ...speed, bar: "", holds: true }];
    const cost = { what: `CPU for ${what}, ${name}`, value: costs[index] ?? Number.NaN, unit: "ms" };
    return [
      { ...speed, bar: "0.4 x direct", holds: value >= 0.4 * floor },
      theirs === undefined
        ? { ...cost, bar: "", holds: true }
        : { ...cost, floor: theirs, bar: "1 x squid", holds: cost.value <= theirs },
    ];
  });
}

async function download(socket: Socket): Promise<number> {
  socket.write(`d${downMegabytes}`);
  return await drain(socket);
}

async function upload(socket: Socket): Promise<number> {
  socket.write("u");
  send(socket, { megabytes: upMegabytes, whenDone: () => socket.end() });
  await drain(socket);
  return upMegabytes * 1024 * 1024;
}

async function drain(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();
  await once(socket, "end");
  socket.destroy();
  return bytes;
}

async function plainSpeed(port: number, { httpPort }: Ports): Promise<Figure> {
  const speedOf = (to: number, url: string) => async () => {
    const socket = await connected(to);
    const start = performance.now();
    socket.write(`GET ${url}/d${downMegabytes} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return (await drain(socket)) / 1e6 / ((performance.now() - start) / 1000);
  };
  const [floors = [], speeds = []] = await interleaved(
    rounds,
    speedOf(port, ""),
    speedOf(httpPort, `http://${host}:${port}`),
  );
  const [value, floor] = [median(speeds), median(floors)];
  return { what: "1 GB down, a plain request", value, unit: "MB/s", floor, bar: "", holds: true };
}

async function setUps(routes: readonly Route[], direct: Route): Promise<Figure[]> {
  const timeOf =
    ({ open }: Route) =>
    async () => {
      const start = performance.now();
      const socket = await open();
      socket.write("x");
      await once(socket.resume(), "data");
      const ms = performance.now() - start;
      socket.destroy();
      return ms;
    };
  const [floors = [], ...times] = await interleaved(1000, timeOf(direct), ...routes.map(timeOf));
  return routes.map(({ name, isOurs }, index): Figure => {
    const value = median(times[index] ?? []);
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

/** The growth of a new proxy process, including code that it loads. */
async function slow(name: string, pass: (proxy: Proxy) => Promise<void>, port: number): Promise<Figure> {
  await using koda = await startProxyProcess(`${host}:${port}`);
  const before = memoryOf(koda.pid);
  await pass(koda);
  const value = memoryOf(koda.pid, "VmHWM") - before;
  return { what: `1 GB ${name}`, value, unit: "MB", bar: "20 MB", holds: value < 20 };
}

async function idle(way: Way, port: number): Promise<Figure> {
  await using koda = await startProxyProcess(`${host}:${port}`);
  const open = async () => {
    const { socket } = await ask(way, koda, port, { host });
    socket.write("x");
    await once(socket.resume(), "data");
    return socket;
  };
  // The first tunnel loads code; more would reserve memory that the measured ones then use. Anonymous memory only,
  // since pages of the program do not belong to a tunnel.
  (await open()).destroy();
  const before = memoryOf(koda.pid, "RssAnon");
  const tunnels: Socket[] = [];
  while (tunnels.length < idleTunnels) tunnels.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  const value = ((memoryOf(koda.pid, "RssAnon") - before) * 1000) / idleTunnels;
  for (const tunnel of tunnels) tunnel.destroy();
  return { what: `an idle tunnel of ${idleTunnels}, ${way.name}`, value, unit: "KB", bar: "30 KB", holds: value < 30 };
}

async function startServer(): Promise<AsyncDisposable & { pid: number; port: number }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "floor/origin.ts")], { stdout: "pipe" });
  return {
    pid: child.pid,
    port: Number(await firstLine(child.stdout)),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** Undefined where squid is not installed. */
async function startSquid(): Promise<Awaited<ReturnType<typeof startPeer>> | undefined> {
  const peer = { program: "squid", args: squidArgs };
  return isMissing(peer) ? undefined : await startPeer(peer);
}

async function connected(port: number): Promise<Socket> {
  const socket = dialProxy(port);
  await once(socket, "connect");
  return socket;
}

/** The CPU time of a process so far, in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
