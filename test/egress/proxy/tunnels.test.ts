import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import type { Socket } from "node:net";
import {
  answered,
  ask,
  bytes,
  connectWay,
  dialProxy,
  echo,
  fill,
  fillLimit,
  openProxies,
  readAll,
  readReply,
  startOrigin,
  ways,
  type Way,
} from "../../support/egress.ts";
import { until } from "../../support/until.ts";

const megabyte = 1024 * 1024;

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));

const sumOf = (data: Buffer) => `${data.length} ${Bun.hash(data)}`;

describe.each([...ways])("$name", (way: Way) => {
  test("what is said with the hello reaches the other side first", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const early = bytes(200_000);
    const { said, socket } = await ask(way, opened.proxies, origin.port, { early });
    expect(way.isYes(said)).toBe(true);
    socket.end("and more");
    expect(sumOf(await readAll(socket))).toBe(sumOf(Buffer.concat([early, Buffer.from("and more")])));
    expect(opened.requests).toEqual([
      { via: way.name === "CONNECT" ? "http" : "socks", host: "origin.test", port: origin.port, verdict: "allowed" },
    ]);
  });

  test("the hello may come byte by byte", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const socket = dialProxy(way.port(opened.proxies));
    socket.setNoDelay(true);
    for (const byte of Buffer.concat(way.hello("origin.test", origin.port))) {
      await new Promise<unknown>((written) => socket.write(Buffer.of(byte), written));
      await Bun.sleep(0);
    }
    expect(way.isYes(await readReply(way, socket))).toBe(true);
    socket.end("hello");
    expect((await readAll(socket)).toString()).toBe("hello");
  });

  test("a client that has said its end still hears the whole answer", async () => {
    const answer = bytes(3 * megabyte, 2);
    const heard: Buffer[] = [];
    await using origin = await startOrigin((socket) => {
      socket.on("data", (chunk: Buffer) => heard.push(chunk)).once("end", () => socket.end(answer));
    });
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    const question = bytes(megabyte);
    socket.end(question);
    expect(sumOf(await readAll(socket))).toBe(sumOf(answer));
    expect(sumOf(Buffer.concat(heard))).toBe(sumOf(question));
    await until(() => opened.proxies.flows === 0, "the end of the flow");
  });

  test("a server that has said its end still hears everything", async () => {
    const heard = Promise.withResolvers<Buffer>();
    await using origin = await startOrigin((socket) => {
      socket.end("bye");
      heard.resolve(readAll(socket));
    });
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    expect((await readAll(socket)).toString()).toBe("bye");
    const rest = bytes(megabyte);
    socket.end(rest);
    expect(sumOf(await heard.promise)).toBe(sumOf(rest));
  });

  test("50 MB pass in both directions at once", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    const data = bytes(50 * megabyte);
    socket.end(data);
    expect(sumOf(await readAll(socket))).toBe(sumOf(data));
  });

  test("who takes nothing holds the other side back, in both directions", async () => {
    const filled = Promise.withResolvers<number>();
    await using origin = await startOrigin((socket) => {
      socket.pause();
      filled.resolve(fill(socket));
    });
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    socket.pause();
    expect(await fill(socket)).toBeLessThan(fillLimit / 4);
    expect(await filled.promise).toBeLessThan(fillLimit / 4);
    socket.destroy();
  });

  test("a reset of the server is a reset for the client, not an end", async () => {
    await using origin = await startOrigin((socket) => socket.once("data", () => socket.resetAndDestroy()));
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    socket.write("x");
    expect(await readAll(socket).catch((error: Error & { code?: string }) => error.code)).toBe("ECONNRESET");
    await until(() => opened.proxies.flows === 0, "the end of the flow");
  });

  test("a reset of the client is a reset for the server", async () => {
    const failed = Promise.withResolvers<string | undefined>();
    await using origin = await startOrigin((socket) => {
      socket.on("error", (error: Error & { code?: string }) => failed.resolve(error.code));
      socket.on("end", () => failed.resolve("an end"));
      echo(socket);
    });
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    socket.write("x");
    await once(socket.resume(), "data");
    socket.resetAndDestroy();
    expect(await failed.promise).toBe("ECONNRESET");
    await until(() => opened.proxies.flows === 0, "the end of the flow");
  });

  test("a client that vanishes while data is under way leaves nothing behind", async () => {
    await using origin = await startOrigin((socket) => socket.end(bytes(20 * megabyte)));
    await using opened = await openProxies([origin.port]);
    const { socket } = await ask(way, opened.proxies, origin.port);
    await once(socket.resume(), "data");
    socket.destroy();
    await until(() => opened.proxies.flows === 0 && origin.connections.size === 0, "the end of the flow");
  });

  test("a client that vanishes before the other side is reached is forgotten", async () => {
    const looking = Promise.withResolvers<void>();
    await using opened = await openProxies([9], {
      resolver: () => {
        looking.resolve();
        return new Promise<never>(() => {});
      },
    });
    const socket = dialProxy(way.port(opened.proxies));
    socket.write(Buffer.concat(way.hello("origin.test", 9)));
    await looking.promise;
    socket.resetAndDestroy();
    await until(() => opened.proxies.flows === 0, "the end of the flow");
    expect(opened.requests[0]).toMatchObject({ verdict: "failed" });
  });

  test("a host that is not allowed is refused, and nothing is looked up", async () => {
    const looked: string[] = [];
    await using opened = await openProxies([], {
      resolver: async (name) => {
        looked.push(name);
        return ["127.0.0.1"];
      },
    });
    const { said, socket } = await ask(way, opened.proxies, 443, { host: "evil.test" });
    expect(way.isYes(said)).toBe(false);
    expect(answered(way, said)).toBe(way === connectWay ? "403" : "2");
    await readAll(socket).catch(() => undefined);
    expect(looked).toEqual([]);
    expect(opened.requests).toMatchObject([{ host: "evil.test", port: 443, verdict: "refused" }]);
  });

  test("an allowed name with a private address is refused", async () => {
    await using opened = await openProxies([], { allow: ["inside.test"], resolver: async () => ["10.0.0.1"] });
    const { said } = await ask(way, opened.proxies, 443, { host: "inside.test" });
    expect(answered(way, said)).toBe(way === connectWay ? "403" : "2");
    expect(opened.requests).toMatchObject([{ verdict: "refused" }]);
  });

  test.concurrent("a name that cannot be looked up, and one that takes too long, fail", async () => {
    await using opened = await openProxies([9], {
      resolver: (name) =>
        name === "origin.test" ? Promise.reject(new Error("no such name")) : new Promise<never>(() => {}),
      allow: ["silent.test"],
    });
    const unknown = await ask(way, opened.proxies, 9);
    expect(answered(way, unknown.said)).toBe(way === connectWay ? "502" : "4");
    const silent = await ask(way, opened.proxies, 443, { host: "silent.test" });
    expect(answered(way, silent.said)).toBe(way === connectWay ? "504" : "4");
    expect(opened.requests.map(({ verdict }) => verdict)).toEqual(["failed", "failed"]);
  });

  test.concurrent("a tunnel in which nothing moves is ended, one that moves now and then is not", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port], { limits: { idleMs: 1_500 } });
    const still = await ask(way, opened.proxies, origin.port);
    const lively = await ask(way, opened.proxies, origin.port);
    let heardBytes = 0;
    lively.socket.on("data", (chunk: Buffer) => (heardBytes += chunk.length)).resume();
    let alive = true;
    lively.socket.once("close", () => (alive = false));
    const timer = setInterval(() => lively.socket.write("x"), 100);
    await closed(still.socket.resume());
    clearInterval(timer);
    expect(alive && heardBytes > 0).toBe(true);
    lively.socket.destroy();
  });

  test.concurrent("no tunnel lives longer than it may", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port], { limits: { lifetimeMs: 500, idleMs: 1_000 } });
    const { socket } = await ask(way, opened.proxies, origin.port);
    const timer = setInterval(() => socket.write("x"), 50);
    await closed(socket.resume());
    clearInterval(timer);
  });

  test("a port where nobody listens is said to be closed", async () => {
    const origin = await startOrigin(echo);
    await origin[Symbol.asyncDispose]();
    await using opened = await openProxies([origin.port]);
    const { said } = await ask(way, opened.proxies, origin.port);
    expect(answered(way, said)).toBe(way === connectWay ? "502" : "5");
    expect(opened.requests).toMatchObject([{ verdict: "failed", reason: expect.stringContaining("ECONNREFUSED") }]);
  });

  test("an address that does not answer gives way to the next one", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port], {
      allow: [`127.0.0.7:${origin.port}`],
      resolver: async () => ["127.0.0.7", "127.0.0.1"],
    });
    const { said, socket } = await ask(way, opened.proxies, origin.port);
    expect(way.isYes(said)).toBe(true);
    socket.end("hello");
    expect((await readAll(socket)).toString()).toBe("hello");
  });

  test("one tunnel more than there may be is refused until another ends", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port], { limits: { flows: 2 } });
    const first = await ask(way, opened.proxies, origin.port);
    await ask(way, opened.proxies, origin.port);
    const third = await ask(way, opened.proxies, origin.port);
    expect(answered(way, third.said)).toBe(way === connectWay ? "503" : "1");
    first.socket.destroy();
    first.socket.resetAndDestroy();
    await until(() => opened.proxies.flows === 1, "the end of the flow");
    expect(way.isYes((await ask(way, opened.proxies, origin.port)).said)).toBe(true);
  });

  test("a client that says hello too slowly is let go", async () => {
    await using opened = await openProxies([], { limits: { headMs: 300 } });
    const socket = dialProxy(way.port(opened.proxies));
    socket.write(Buffer.concat(way.hello("origin.test", 9)).subarray(0, 2));
    const said = await readAll(socket).catch(() => Buffer.alloc(0));
    expect(said.toString("latin1")).toMatch(way === connectWay ? /^HTTP\/1\.1 408 / : /^$/);
  });

  test("2,000 connections in bursts all get through", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    let good = 0;
    const one = async (n: number) => {
      const { said, socket } = await ask(way, opened.proxies, origin.port);
      socket.end(`number ${n}`);
      if (way.isYes(said) && (await readAll(socket)).toString() === `number ${n}`) good += 1;
      socket.destroy();
    };
    for (let burst = 0; burst < 20; burst++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => one(burst * 100 + n)));
    expect(good).toBe(2_000);
    await until(() => opened.proxies.flows === 0, "the end of all flows");
  });

  test("closing the proxies closes every tunnel and every listener", async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([origin.port]);
    const tunnels: Socket[] = [];
    for (let n = 0; n < 5; n++) tunnels.push((await ask(way, opened.proxies, origin.port)).socket.resume());
    const silent = dialProxy(way.port(opened.proxies)).resume();
    await once(silent, "connect");
    const ends = [...tunnels, silent].map(closed);
    await opened.proxies[Symbol.asyncDispose]();
    for (const socket of [...tunnels, silent]) socket.end();
    await Promise.all(ends);
    await until(() => origin.connections.size === 0, "the end of the connections to the server");
    const late = dialProxy(way.port(opened.proxies));
    await closed(late);
    expect(late.bytesRead).toBe(0);
  });
});
