import { expect, test } from "bun:test";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import {
  answered,
  ask,
  connectWay,
  dialProxy,
  openProxies,
  readAll,
  startOrigin,
  ways,
  type Ports,
  type Way,
} from "../support/egress.ts";
import { startProxyProcess } from "../support/proxyprocess.ts";
import { deadPort } from "../support/stage.ts";
import { until } from "../support/until.ts";

const host = "127.0.0.1";
const visits = 5_000;
const atOnce = 500;

const isLinux = process.platform === "linux";
const descriptorsOf = (pid: number | "self") => readdirSync(`/proc/${pid}/fd`).length;

type Visit = (way: Way, proxy: Ports, port: number) => Promise<void>;

async function exchange(way: Way, proxy: Ports, port: number): Promise<void> {
  const { said, socket } = await ask(way, proxy, port, { host });
  expect(way.isYes(said)).toBe(true);
  socket.end("hello");
  expect((await readAll(socket)).toString()).toBe("hello");
}

/** Asks for what nobody gets, and hears the number that says so. */
const failing =
  (place: { host: string; port: number }, numbers: { http: string; socks: string }): Visit =>
  async (way, proxy) => {
    const { said, socket } = await ask(way, proxy, place.port, place);
    expect(answered(way, said)).toBe(way === connectWay ? numbers.http : numbers.socks);
    socket.destroy();
  };

/** Leaves in the middle of its words. */
async function vanishEarly(way: Way, proxy: Ports, port: number): Promise<void> {
  const socket = dialProxy(way.port(proxy));
  await new Promise<unknown>((written) =>
    socket.write(Buffer.concat(way.hello(host, port)).subarray(0, 1 + (port % 9)), written),
  );
  socket.resetAndDestroy();
}

/** Leaves in the middle of an exchange. */
async function vanishLate(way: Way, proxy: Ports, port: number): Promise<void> {
  const { socket } = await ask(way, proxy, port, { host });
  socket.write("hello");
  socket.resetAndDestroy();
}

async function beAbandoned(way: Way, proxy: Ports, port: number): Promise<void> {
  const { socket } = await ask(way, proxy, port, { host, early: Buffer.from("leave") });
  await readAll(socket).catch(() => undefined);
}

async function talkNonsense(way: Way, proxy: Ports): Promise<void> {
  const socket = dialProxy(way.port(proxy));
  socket.end("\x16\x03\x01 nonsense \r\n\r\n");
  await readAll(socket).catch(() => undefined);
  socket.destroy();
}

const visitsOf: readonly Visit[] = [
  exchange,
  failing({ host: "evil.test", port: 443 }, { http: "403", socks: "2" }),
  exchange,
  failing({ host, port: deadPort }, { http: "502", socks: "5" }),
  vanishEarly,
  exchange,
  vanishLate,
  beAbandoned,
  talkNonsense,
];

/** Gives back what it gets, and leaves who asks for it. */
function echoOrLeave(socket: Socket): void {
  socket.on("data", (chunk: Buffer) => {
    if (chunk.toString("latin1") === "leave") return socket.resetAndDestroy();
    socket.write(chunk);
  });
  socket.once("end", () => socket.end());
}

test.skipIf(!isLinux)(
  `after ${visits} connections of all kinds, ${atOnce} at once, nothing is left open`,
  async () => {
    await using origin = await startOrigin(echoOrLeave);
    await using proxy = await startProxyProcess(`${host}:${origin.port}`, `${host}:${deadPort}`);
    for (const way of ways) await exchange(way, proxy, origin.port);
    const before = descriptorsOf(proxy.pid);

    const numbers = Array.from({ length: visits }, (_, number) => number).values();
    const visitor = async () => {
      for (const number of numbers) {
        const way = ways[number % ways.length] ?? connectWay;
        await visitsOf[number % visitsOf.length]?.(way, proxy, origin.port);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, visitor));

    await until(
      () => descriptorsOf(proxy.pid) <= before && origin.connections.size === 0,
      "the end of all connections",
    );
    for (const way of ways) await exchange(way, proxy, origin.port);
  },
  300_000,
);

test.each([...ways])("$name: a crowd that says its hello byte by byte for ever is let go", async (way: Way) => {
  await using origin = await startOrigin(echoOrLeave);
  await using opened = await openProxies([origin.port], { limits: { headMs: 2_000 } });
  const before = isLinux ? descriptorsOf("self") : 0;
  const drip = async () => {
    const socket = dialProxy(way.port(opened.proxies));
    let isOver = false;
    socket.once("close", () => (isOver = true));
    const said = readAll(socket).catch(() => Buffer.alloc(0));
    // A head of HTTP that never ends; a greeting of SOCKS5 with more methods than ever come.
    socket.write(way === connectWay ? `CONNECT ${host}:1 HTTP/1.1\r\nA: ` : Buffer.of(5, 255));
    const timer = setInterval(() => !isOver && socket.write("a"), 50);
    const words = await said;
    clearInterval(timer);
    if (!isOver) await once(socket.destroy(), "close");
    return words.toString("latin1");
  };
  const crowd = Promise.all(Array.from({ length: 200 }, drip));
  await exchange(way, opened.proxies, origin.port);
  for (const words of await crowd) expect(words).toMatch(way === connectWay ? /^HTTP\/1\.1 408 / : /^$/);
  if (isLinux) await until(() => descriptorsOf("self") <= before, "the end of all connections");
});
