import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { createServer } from "node:tls";
import { openEarly } from "../../lib/model/early.ts";
import { openStore } from "../../lib/session/store.ts";
import { makeCertificate } from "../support/certificate.ts";
import { checkLines, koda, start } from "../support/koda.ts";
import { call, say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace, type Place } from "../support/place.ts";
import { finished } from "../support/run.ts";
import { start as sessionStart, user } from "../support/sessions.ts";

const { certificate, key } = makeCertificate(["localhost"]);

type Connection = { socket: Socket; isUsed: boolean };

/** A model server behind TLS. `meet` sees each connection when its handshake is done. */
async function startSecureServer(meet: (connection: Connection, count: number) => void = () => {}) {
  const command = call("Bash", { command: "true" });
  const model = await startModelServer([command, command, say("Hello.")]);
  const connections: Connection[] = [];
  const first = Promise.withResolvers<void>();
  const server = createServer({ cert: certificate, key }, (socket) => {
    const connection = { socket, isUsed: false };
    connections.push(connection);
    const inner = connect(Number(new URL(model.origin).port), "127.0.0.1");
    for (const end of [socket, inner]) end.on("error", () => end.destroy());
    socket.on("data", () => (connection.isUsed = true));
    socket.pipe(inner).pipe(socket);
    meet(connection, connections.length);
    first.resolve();
  });
  const url = `https://localhost:${await listen(server)}/v1`;
  const close = async () => {
    for (const { socket } of connections) socket.destroy();
    server.close();
    await model.close();
  };
  return { url, model, connections, first: first.promise, [Symbol.asyncDispose]: close };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

/** The environment in which the server's certificate is trusted. */
function trusting(place: Place): Record<string, string> {
  const file = join(place.home, "ca.pem");
  writeFileSync(file, certificate);
  return { NODE_EXTRA_CA_CERTS: file };
}

/** A session that this process holds until it is closed. */
async function holdSession(place: Place, id: string) {
  const path = join(place.home, ".local/share/koda/koda.db");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const store = openStore(path);
  const session = await store.openOrCreate(id, sessionStart);
  session.append(user("held"));
  return () => {
    session.close();
    store.close();
  };
}

const flags = (url: string) => ["exec", "--json", "--no-sandbox", "-m", "scripted", "--base-url", url];

/** A run whose session is free only when the first connection has come to its end of the handshake. */
async function runAfterConnection(server: Awaited<ReturnType<typeof startSecureServer>>) {
  await using place = makePlace();
  const release = await holdSession(place, "held");
  const args = [...flags(server.url), "--session", "held", "--wait", "60s", "Say hello"];
  const child = start(place, args, { env: trusting(place) });
  await server.first;
  expect(server.model.requests).toHaveLength(0);
  release();
  const ran = await finished(child);
  return { ...ran, ...checkLines(ran) };
}

describe("the connection to the provider", () => {
  test("is opened before the session, carries nothing until then, and is the only one of three requests", async () => {
    await using server = await startSecureServer();
    const { end } = await runAfterConnection(server);
    expect(end).toMatchObject({ exit: 0, text: "Hello." });
    expect(server.model.requests).toHaveLength(3);
    expect(server.connections).toHaveLength(1);
  });

  test.each<[string, (connection: Connection) => void]>([
    ["closed before its first request", ({ socket }) => socket.end()],
    ["reset before its first request", ({ socket }) => socket.resetAndDestroy()],
    ["closed by its first request", ({ socket }) => socket.on("data", () => socket.destroy())],
    ["reset by its first request", ({ socket }) => socket.on("data", () => socket.resetAndDestroy())],
  ])("may be %s, which is no retry", async (_name, close) => {
    await using server = await startSecureServer((connection, count) => {
      if (count === 1) close(connection);
    });
    const { end, events } = await runAfterConnection(server);
    expect(end).toMatchObject({ exit: 0, text: "Hello." });
    expect(events.filter(({ type }) => type === "retry")).toEqual([]);
    expect(server.connections).toHaveLength(2);
  });

  test("is waited for by the first request when it takes longer than the start, since a second one takes longer", async () => {
    await using place = makePlace();
    await using server = await startSecureServer();
    const { port } = new URL(server.url);
    let accepted = 0;
    // A server some way off that has room for one client.
    const away = createTcpServer((socket) => {
      if (++accepted > 1) return socket.resetAndDestroy();
      const inner = connect(Number(port), "127.0.0.1");
      for (const [from, to] of [
        [socket, inner],
        [inner, socket],
      ] as const) {
        from.on("data", (piece: Buffer) => setTimeout(() => to.write(piece), 40));
        from.on("close", () => to.destroy());
        from.on("error", () => from.destroy());
      }
    });
    const url = `https://localhost:${await listen(away)}/v1`;
    const ran = await koda(place, [...flags(url), "Say hello"], { env: trusting(place) });
    const { end, events } = checkLines(ran);
    expect(end).toMatchObject({ exit: 0, text: "Hello." });
    expect(events.filter(({ type }) => type === "retry")).toEqual([]);
    expect(accepted).toBe(1);
    away.close();
  });

  test("may never be set up: a run that is refused meanwhile ends at once", async () => {
    await using place = makePlace();
    const reached = Promise.withResolvers<void>();
    const server = createTcpServer(() => reached.resolve());
    const url = `https://localhost:${await listen(server)}/v1`;
    const release = await holdSession(place, "held");
    const child = start(place, [...flags(url), "--session", "held", "--wait", "60s", "Say hello"]);
    await reached.promise;
    child.kill("SIGTERM");
    expect(checkLines(await finished(child)).end).toMatchObject({ exit: 143 });
    release();
    server.close();
  });
});

describe("no connection is opened", () => {
  test.each<[string, readonly string[], number, Record<string, string>?]>([
    ["for a wrong flag", ["--nosuch", "hi"], 2],
    ["without a prompt", [], 2],
    ["for an empty prompt", [" "], 2],
    ["without a key", ["--api-key-env", "NO_SUCH_KEY", "hi"], 4],
    ["past a proxy", ["hi"], 9, { HTTPS_PROXY: "http://127.0.0.1:9" }],
  ])("%s", async (_name, args, exit, env = {}) => {
    await using place = makePlace();
    await using server = await startSecureServer();
    const ran = await koda(place, [...flags(server.url), ...args], { env: { ...trusting(place), ...env } });
    expect(ran.exit).toBe(exit);
    expect(server.connections).toHaveLength(0);
  });

  test.each<[string, readonly string[], number]>([
    ["for a replay", ["--replay", "../tape", "Say hello"], 0],
    ["to continue a session that is complete", ["--last"], 2],
  ])("%s", async (_name, args, exit) => {
    await using place = makePlace();
    await using server = await startSecureServer();
    const env = trusting(place);
    expect((await koda(place, [...flags(server.url), "--record", "../tape", "Say hello"], { env })).exit).toBe(0);
    const before = server.connections.length;
    expect((await koda(place, [...flags(server.url), ...args], { env })).exit).toBe(exit);
    expect(server.connections).toHaveLength(before);
  });
});

test("a connection that has been idle for long is not used", async () => {
  await using place = makePlace();
  await using server = await startSecureServer();
  const program = [process.execPath, join(import.meta.dir, "../support/early-program.ts"), server.url];
  const child = Bun.spawn(program, { env: { ...place.env, ...trusting(place) }, stdin: "pipe", stdout: "pipe" });
  await server.first;
  await child.stdin.end();
  expect(await child.stdout.text()).toBe("404 404\n");
  expect(server.connections.map(({ isUsed }) => isUsed)).toEqual([false, true]);
});

test("at the usual port, where Bun cannot connect early, the name is looked up", () => {
  const before = Bun.dns.getCacheStats().totalCount;
  openEarly("https://localhost/v1", {});
  expect(Bun.dns.getCacheStats().totalCount).toBe(before + 1);
  expect(() => fetch.preconnect("https://localhost")).toThrow("Invalid port");
});

test("a first request that breaks where nothing was opened early is left to the retries, which are announced", async () => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    socket.once("data", () => socket.resetAndDestroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const send = openEarly("https://localhost/v1", {});
  const request = { method: "POST", headers: {}, body: "{}", signal: AbortSignal.timeout(20_000) } as const;
  await expect(send(`http://127.0.0.1:${port}/v1`, request)).rejects.toThrow();
  expect(connections).toBe(1);
  server.close();
});
