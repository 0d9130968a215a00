import { expect, test } from "bun:test";
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { Readable, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { ask, dialProxy, openProxies, portOf, readAll, startOrigin, ways, type Way } from "../support/egress.ts";
import { seeded } from "../support/random.ts";
import { until } from "../support/until.ts";

// The memory of what was passed on is given back at once. Were it given back too early, bytes would be missing that
// wait to be written: many small ones, for a reader that takes nothing yet.

function pieces(seed: number): Buffer[] {
  const random = seeded(seed);
  return Array.from({ length: 2_000 }, () => {
    const length = 1 + Math.floor(random() * (random() < 0.98 ? 20_000 : 1_000_000));
    return Buffer.alloc(length, Buffer.from(`${random()} ${random()}`));
  });
}

/** Says one piece a turn of the loop, whether or not somebody takes it. */
async function say(to: Writable, said: readonly Buffer[]): Promise<void> {
  for (const piece of said) {
    to.write(piece);
    await turn();
  }
}

/** Takes a little at a time. */
async function hear(from: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of from) {
    chunks.push(chunk);
    await turn();
  }
  return sumOf(chunks);
}

function sumOf(chunks: readonly Buffer[]): string {
  const whole = Buffer.concat(chunks);
  return `${whole.length} ${Bun.hash(whole)}`;
}

test.each([...ways])("$name: all bytes pass, in both directions", async (way: Way) => {
  const [up, down] = [pieces(1), pieces(2)];
  const heard = Promise.withResolvers<string>();
  await using origin = await startOrigin(async (server) => {
    await say(server.pause(), down);
    server.end();
    heard.resolve(hear(server));
  });
  await using opened = await openProxies([origin.port]);
  const { socket } = await ask(way, opened.proxies, origin.port);
  await say(socket, up);
  socket.end();
  expect(await hear(socket)).toBe(sumOf(down));
  expect(await heard.promise).toBe(sumOf(up));
});

/** A server that says its answer at once, but for the end of it, and only then hears what was sent. */
async function startServer(answer: readonly Buffer[], headers: Record<string, string>) {
  const heard = Promise.withResolvers<string>();
  const server = createServer(async (wish, reply) => {
    reply.writeHead(200, headers);
    await say(reply, answer.slice(0, -1));
    heard.resolve(await hear(wish));
    reply.end(answer.at(-1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    heard: heard.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const lengthOf = (said: readonly Buffer[]) => ({
  "Content-Length": `${said.reduce((sum, { length }) => sum + length, 0)}`,
});
const inChunks = () => ({ "Transfer-Encoding": "chunked" });

test.each([
  ["with a length", lengthOf],
  ["in chunks", inChunks],
])("a plain request and its reply, %s: all bytes pass", async (_, framing) => {
  const [up, down] = [pieces(3), pieces(4)];
  await using server = await startServer(down, framing(down));
  await using opened = await openProxies([server.port]);
  const wish = request({
    host: "127.0.0.1",
    port: opened.proxies.httpPort,
    method: "POST",
    path: `http://origin.test:${server.port}/`,
    headers: { Host: "x", ...framing(up) },
  });
  const replied = once(wish, "response") as Promise<[IncomingMessage]>;
  await say(wish, up);
  wish.end();
  const [reply] = await replied;
  expect(await hear(reply)).toBe(sumOf(down));
  expect(await server.heard).toBe(sumOf(up));
});

test("a head that follows a body is read whole, wherever it is cut", async () => {
  const body = "b".repeat(100_000);
  const paths: string[] = [];
  const server = createServer((wish, reply) => {
    paths.push(wish.url ?? "");
    wish.resume().once("end", () => reply.end("ok"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  await using opened = await openProxies([portOf(server)]);
  const head = (method: string, path: string, more: string) =>
    `${method} http://origin.test:${portOf(server)}${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
  const first = head("POST", "/first", `Content-Length: ${body.length}\r\n`) + body;
  const second = head("GET", "/second?with=something", "Accept: text/plain\r\nConnection: close\r\n");
  for (let at = 1; at < second.length; at += 5) {
    const socket = dialProxy(opened.proxies.httpPort);
    const said = readAll(socket);
    socket.write(first + second.slice(0, at));
    await until(() => paths.length % 2 === 1, "the first request");
    socket.write(second.slice(at));
    expect((await said).toString().match(/HTTP.1.1 200 OK/g)).toHaveLength(2);
    expect(paths.splice(0)).toEqual(["/first", "/second?with=something"]);
  }
  server.close();
});

test("a reply in chunks is read whole, wherever it is cut", async () => {
  const reply = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n00a;b=c\r\n0123456789\r\n1;d\r\n!\r\n0\r\nA: some words\r\n\r\n`;
  for (let at = 1; at < reply.length; at += 3) {
    await using origin = await startOrigin((socket) => {
      socket.once("data", async () => {
        // Each byte from there on comes alone.
        for (const piece of [reply.slice(0, at), ...reply.slice(at)]) {
          await new Promise<unknown>((written) => socket.write(piece, written));
          await turn();
        }
        socket.end();
      });
    });
    await using opened = await openProxies([origin.port]);
    const reached = await fetch(`http://origin.test:${origin.port}/`, {
      proxy: `http://127.0.0.1:${opened.proxies.httpPort}`,
    });
    expect(await reached.text()).toBe("0123456789!");
  }
});
