import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { dialProxy, fill, fillLimit, openProxies, readAll, startOrigin, type Opened } from "../../support/egress.ts";
import { until } from "../../support/until.ts";

/** An origin that answers each connection with these bytes as soon as a head has come; `heard` is what it got. */
async function startScripted(...answers: string[]) {
  const heard: string[] = [];
  const origin = await startOrigin((socket) => {
    const index = heard.push("") - 1;
    let told = false;
    socket.on("data", (chunk: Buffer) => {
      heard[index] += chunk.toString("latin1");
      if (told || !heard[index]?.includes("\r\n\r\n")) return;
      told = true;
      socket.end(Buffer.from(answers[index] ?? answers.at(-1) ?? "", "latin1"));
    });
  });
  return { ...origin, heard };
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/** Says this to the HTTP proxy and hears all it answers until it closes. */
async function say({ proxies }: Opened, ...parts: (string | (() => Promise<unknown>))[]): Promise<string> {
  const socket = dialProxy(proxies.httpPort);
  const all = readAll(socket);
  for (const part of parts) {
    if (typeof part === "string") socket.write(Buffer.from(part, "latin1"));
    else await part();
  }
  return (await all).toString("latin1");
}

const statuses = (said: string) => [...said.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

const closing = "Connection: close\r\n\r\n";

describe("a request in absolute form", () => {
  test("reaches its origin in origin form, with its own headers and without those of the connection", async () => {
    await using origin = await startScripted(
      "HTTP/1.1 201 Well Made\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: \xe9\r\nConnection: x-mine\r\nX-Mine: 1\r\n" +
        "Keep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nhi",
    );
    await using opened = await openProxies([origin.port]);
    const said = await say(
      opened,
      `GET http://Origin.TEST:${origin.port}/a%20b?c=d&e HTTP/1.1\r\nHost: elsewhere.test\r\nAccept: */*\r\nX-Twice: 1\r\n` +
        "X-Twice: 2\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic c2VjcmV0\r\nTE: trailers\r\n" +
        "Connection: close, X-Hop\r\nX-Hop: 1\r\n\r\n",
    );
    expect(origin.heard[0]).toBe(
      `GET /a%20b?c=d&e HTTP/1.1\r\nHost: origin.test:${origin.port}\r\nAccept: */*\r\nX-Twice: 1\r\nX-Twice: 2\r\n` +
        "Connection: close\r\n\r\n",
    );
    const [head = "", body] = said.split("\r\n\r\n");
    expect(head.split("\r\n").toSorted()).toEqual(
      [
        "HTTP/1.1 201 Well Made",
        "Set-Cookie: a=1",
        "Set-Cookie: b=2",
        "X-Odd: \xe9",
        "Content-Length: 2",
        "Connection: close",
      ].toSorted(),
    );
    expect(body).toBe("hi");
    expect(opened.requests).toEqual([{ via: "http", host: "origin.test", port: origin.port, verdict: "allowed" }]);
  });

  test.each([
    ["http://origin.test:PORT", "GET", "GET / HTTP/1.1"],
    ["http://origin.test:PORT?q", "GET", "GET /?q HTTP/1.1"],
    ["http://origin.test:PORT", "OPTIONS", "OPTIONS * HTTP/1.1"],
    ["HTTP://origin.test:PORT//x/../y", "GET", "GET //x/../y HTTP/1.1"],
    ["http://origin.test.:PORT/", "PROPFIND", "PROPFIND / HTTP/1.1"],
  ])("%s with %s asks for what it says", async (url, method, line) => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    await say(opened, `${method} ${url.replace("PORT", `${origin.port}`)} HTTP/1.1\r\nHost: x\r\n${closing}`);
    expect(origin.heard[0]?.split("\r\n")[0]).toBe(line);
  });

  test.each([
    ["a length", "POST", "Content-Length: 3\r\n", "abc", "Content-Length: 3\r\n", "abc"],
    [
      "chunks",
      "POST",
      "Transfer-Encoding: chunked\r\n",
      "3\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n",
      "3\r\nabc\r\n0\r\n\r\n",
    ],
    [
      "chunks in a GET",
      "GET",
      "Transfer-Encoding: Chunked\r\n",
      "3\r\nabc\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\n",
      "3\r\nabc\r\n0\r\n\r\n",
    ],
    ["nothing", "POST", "", "", "Content-Length: 0\r\n", ""],
    ["nothing in a DELETE", "DELETE", "", "", "Content-Length: 0\r\n", ""],
    ["nothing in a GET", "GET", "", "", "", ""],
  ])("a body with %s is passed on as it is", async (_, method, header, body, expected, bodyExpected) => {
    const heard = Promise.withResolvers<string>();
    await using origin = await startOrigin((socket) => {
      let text = "";
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
        if (!text.endsWith(`\r\n\r\n${bodyExpected}`)) return;
        heard.resolve(text);
        socket.end(ok);
      });
    });
    await using opened = await openProxies([origin.port]);
    const url = `http://origin.test:${origin.port}/`;
    const said = await say(opened, `${method} ${url} HTTP/1.1\r\nHost: x\r\n${header}${closing}${body}`);
    expect(await heard.promise).toBe(
      `${method} / HTTP/1.1\r\nHost: origin.test:${origin.port}\r\n${header.startsWith("Content") ? expected : ""}` +
        `${header.startsWith("Content") ? "" : expected}Connection: close\r\n\r\n${bodyExpected}`,
    );
    expect(said).toEndWith("\r\n\r\nhi");
  });

  test.each([
    ["a length", ok, "Content-Length: 2", "hi"],
    [
      "chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked",
      "2\r\nhi\r\n0\r\n\r\n",
    ],
    ["its end only", "HTTP/1.1 200 OK\r\n\r\nhi", "Transfer-Encoding: chunked", "2\r\nhi\r\n0\r\n\r\n"],
    ["its end only, from HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhi", "Transfer-Encoding: chunked", "2\r\nhi\r\n0\r\n\r\n"],
    ["nothing (204)", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content", ""],
    ["nothing (304)", "HTTP/1.1 304 Not Modified\r\nContent-Length: 20\r\n\r\n", "Content-Length: 20", ""],
  ])("a reply with %s comes back whole", async (_, reply, header, body) => {
    await using origin = await startScripted(reply);
    await using opened = await openProxies([origin.port]);
    const said = await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`);
    const [head, ...rest] = said.split("\r\n\r\n");
    expect(head?.split("\r\n")).toContain(header);
    expect(rest.join("\r\n\r\n")).toBe(body);
  });

  test("the reply to HEAD keeps its length and has no body", async () => {
    await using origin = await startScripted("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
    await using opened = await openProxies([origin.port]);
    const said = await say(opened, `HEAD http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`);
    expect(said).toContain("Content-Length: 20\r\n");
    expect(said).toEndWith("\r\n\r\n");
  });

  test("a client of HTTP/1.0 is answered in its own way", async () => {
    await using origin = await startScripted(
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    );
    await using opened = await openProxies([origin.port]);
    const said = await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.0\r\n\r\n`);
    expect(said).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(said).not.toContain("chunked");
    expect(said).toEndWith("\r\n\r\nhi");
  });

  test("what comes before the reply is passed back too", async () => {
    await using origin = await startScripted(
      `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${ok}`,
    );
    await using opened = await openProxies([origin.port]);
    const said = await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`);
    expect(said).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>; rel=preload\r\n\r\nHTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
    );
  });

  test("a client that waits to be told is told when the origin says so", async () => {
    await using origin = await startOrigin((socket) => {
      let text = "";
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.endsWith("Connection: close\r\n\r\n") && text.includes("Expect: 100-continue\r\n"))
          socket.write("HTTP/1.1 100 Continue\r\n\r\n");
        if (text.endsWith("abc")) socket.end(ok);
      });
    });
    await using opened = await openProxies([origin.port]);
    const socket = dialProxy(opened.proxies.httpPort);
    socket.write(
      `PUT http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n${closing}`,
    );
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("abc");
    expect((await readAll(socket)).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nhi$/);
  });

  test("a client that waits to be told hears a refusal at once, and the connection ends", async () => {
    await using opened = await openProxies([]);
    const said = await say(
      opened,
      "PUT http://evil.test/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
    );
    expect(said).toStartWith("HTTP/1.1 403 Forbidden\r\n");
    expect(said).toContain("Connection: close\r\n");
  });

  test("a head is passed on before its body comes", async () => {
    const arrived = Promise.withResolvers<void>();
    await using origin = await startOrigin((socket) => {
      let text = "";
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes("\r\n\r\n")) arrived.resolve();
        if (text.endsWith("abc")) socket.end(ok);
      });
    });
    await using opened = await openProxies([origin.port]);
    const said = await say(
      opened,
      `PUT http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n${closing}`,
      () => arrived.promise,
      "abc",
    );
    expect(said).toEndWith("hi");
  });

  test("what the origin says is passed back as it comes", async () => {
    const origins: Socket[] = [];
    await using origin = await startOrigin((socket) => {
      origins.push(socket);
      socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"));
    });
    await using opened = await openProxies([origin.port]);
    const socket = dialProxy(opened.proxies.httpPort);
    socket.write(`GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`);
    let said = "";
    socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said.includes("data: 1"), "the first event");
    origins[0]?.end("data: 2\n\n");
    await until(() => said.includes("data: 2"), "the second event");
    socket.destroy();
  });

  test("one connection serves several hosts, each request decided anew", async () => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    const good = `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;
    const bad = "POST http://evil.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345";
    const last = `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`;
    const said = await say(opened, good + bad + good + "TRACE http://origin.test/ HTTP/1.1\r\nHost: x\r\n\r\n" + last);
    expect(statuses(said)).toEqual(["200", "403", "200", "405", "200"]);
    expect(opened.requests.map(({ verdict }) => verdict).toSorted()).toEqual([
      "allowed",
      "allowed",
      "allowed",
      "refused",
    ]);
  });

  test.each([
    ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi"],
    ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"],
  ])("a reply %s that is cut off is cut off for the client too", async (_, reply) => {
    await using origin = await startScripted(reply);
    await using opened = await openProxies([origin.port]);
    const outcome = await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`).catch(
      (error: Error & { code?: string }) => error.code,
    );
    expect(outcome).toBe("ECONNRESET");
  });

  test.each([
    ["is nothing", "", /broke off/],
    ["is no HTTP", "SSH-2.0-x\r\n\r\n", /broke off/],
    [
      "says its length twice",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      /broke off/,
    ],
    [
      "has an unsupported coding",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      /unsupported Transfer-Encoding/,
    ],
    [
      "has an empty coding beside its length",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 2\r\n\r\nhi",
      /broke off|unsupported Transfer-Encoding/,
    ],
    [
      "changes the protocol",
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      /changed the protocol/,
    ],
  ])("a reply that %s is 502, and the connection stays", async (_, reply, why) => {
    await using origin = await startScripted(reply, ok);
    await using opened = await openProxies([origin.port]);
    const line = `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n`;
    const said = await say(
      opened,
      `${line}\r\n`,
      async () => {
        await until(() => opened.requests.length === 1 && opened.proxies.flows === 0, "the first answer");
      },
      `${line}${closing}`,
    );
    expect(said).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
    expect(/x-koda-egress: (.*)\r\n/i.exec(said)?.[1]).toMatch(why);
    expect(said).toEndWith("hi");
  });

  const oddReplies: [name: string, reply: string, said: RegExp][] = [
    ["a hint that is none", `HTTP/1.1 103 x\r\nLink: \x80 ;;\r\n\r\n${ok}`, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nhi$/],
    ["a status below all", "HTTP/1.1 099 x\r\nContent-Length: 2\r\n\r\nhi", /^HTTP\/1\.1 502 /],
    ["a status above all", "HTTP/1.1 999 x\r\nContent-Length: 2\r\n\r\nhi", /^HTTP\/1\.1 999 x\r\n/],
    ["a status with control characters", "HTTP/1.1 200 \x01\x7f\r\nContent-Length: 2\r\n\r\nhi", /^HTTP\/1\.1 200 /],
    ["a header with a zero byte", "HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 2\r\n\r\nhi", /^HTTP\/1\.1 502 /],
    ["more than its length", `${ok} and more`, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nhi$/],
    [
      "a length that is named in Connection",
      `HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\nhi`,
      /Content-Length: 2\r\n[^]*hi$/,
    ],
    ["a head without an end", `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(500_000)}`, /^HTTP\/1\.1 502 /],
  ];
  test.each(oddReplies)("%s from an origin harms nobody", async (_, reply, expected) => {
    await using origin = await startScripted(reply);
    await using opened = await openProxies([origin.port]);
    expect(await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n${closing}`)).toMatch(
      expected,
    );
    await until(() => opened.proxies.flows === 0, "the end of the flow");
  });

  test("a client that takes nothing holds its origin back, and so does an origin its client", async () => {
    const filled = Promise.withResolvers<number>();
    await using down = await startOrigin((socket) => {
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${fillLimit}\r\n\r\n`);
        filled.resolve(fill(socket));
      });
    });
    await using up = await startOrigin((socket) => void socket.pause());
    await using opened = await openProxies([down.port, up.port]);

    const reader = dialProxy(opened.proxies.httpPort);
    reader.write(`GET http://origin.test:${down.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(await filled.promise).toBeLessThan(fillLimit / 4);

    const writer = dialProxy(opened.proxies.httpPort);
    writer.write(`POST http://origin.test:${up.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${fillLimit}\r\n\r\n`);
    expect(await fill(writer)).toBeLessThan(fillLimit / 4);
    reader.destroy();
    writer.destroy();
  });

  test("an origin that never answers is given up with 504", async () => {
    await using origin = await startOrigin((socket) => void socket.resume());
    await using opened = await openProxies([origin.port], { limits: { idleMs: 300 } });
    const said = await say(opened, `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(said).toStartWith("HTTP/1.1 504 Gateway Timeout\r\n");
    await until(() => opened.proxies.flows === 0 && origin.connections.size === 0, "the end of the flow");
  });

  test("a client that leaves takes its request along", async () => {
    await using origin = await startOrigin((socket) => void socket.resume());
    await using opened = await openProxies([origin.port]);
    const socket = dialProxy(opened.proxies.httpPort);
    socket.write(`POST http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc`);
    await until(() => origin.connections.size === 1, "the connection to the origin");
    socket.resetAndDestroy();
    await until(() => opened.proxies.flows === 0 && origin.connections.size === 0, "the end of the flow");
  });

  test("50 MB pass up and down again", async () => {
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      maxRequestBodySize: 2 ** 30,
      fetch: async (request) => new Response(await request.arrayBuffer()),
    });
    await using opened = await openProxies([server.port ?? 0]);
    const body = Buffer.alloc(50 * 1024 * 1024, "0123456789abcdefghi");
    for (const headers of [{ "Content-Length": String(body.length) }, { "Transfer-Encoding": "chunked" }]) {
      const wish = request({
        host: "127.0.0.1",
        port: opened.proxies.httpPort,
        method: "POST",
        path: `http://origin.test:${server.port}/`,
        headers: { Host: "x", ...headers },
      });
      wish.end(body);
      const [reply] = await once(wish, "response");
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(body)).toBe(true);
    }
  });
});

describe("a request whose body could end in two places", () => {
  /** A body of three bytes for one reader; for another they, or what follows, are the next request. */
  const behind = (port: number) => `abcGET http://origin.test:${port}/forged HTTP/1.1\r\nHost: x\r\n${closing}`;
  const post = (port: number, headers: string) =>
    `POST http://origin.test:${port}/ HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${behind(port)}`;
  const length = "Content-Length: 3";

  test("has a control: with one length both requests pass", async () => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    expect(statuses(await say(opened, post(origin.port, length)))).toEqual(["200", "200"]);
    expect(origin.heard.map((head) => head.split(" ")[1])).toEqual(["/", "/forged"]);
  });

  test.each([
    ["an empty coding", 400, `Transfer-Encoding:\r\n${length}`],
    ["an empty coding behind it", 400, `${length}\r\nTransfer-Encoding: `],
    ["an empty coding alone", 400, "Transfer-Encoding:"],
    ["a coding of nothing in a list", 400, `Transfer-Encoding: ,\r\n${length}`],
    ["a coding", 400, `${length}\r\nTransfer-Encoding: chunked`],
    ["a coding behind a space", 400, `${length}\r\nTransfer-Encoding : chunked`],
    ["a coding on a folded line", 400, `Transfer-Encoding:\r\n chunked\r\n${length}`],
    ["a coding behind a bare line feed", 400, `X: a\nTransfer-Encoding: chunked\r\n${length}`],
    ["a coding behind a bare carriage return", 400, `X: a\rTransfer-Encoding: chunked\r\n${length}`],
    ["a coding and a vertical tab", 400, `Transfer-Encoding: \x0bchunked\r\n${length}`],
    ["a coding and a zero byte", 400, `Transfer-Encoding: chunked\0\r\n${length}`],
    ["the coding identity", 400, `Transfer-Encoding: identity\r\n${length}`],
    ["the coding identity alone", 501, "Transfer-Encoding: identity"],
    ["an unknown coding", 501, "Transfer-Encoding: xchunked"],
    ["a coding in quotes", 501, 'Transfer-Encoding: "chunked"'],
    ["a coding with a parameter", 501, "Transfer-Encoding: chunked;q=1"],
    ["a coding and an empty one", 501, "Transfer-Encoding: chunked\r\nTransfer-Encoding:"],
    ["a coding twice", 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"],
    ["chunks first", 400, "Transfer-Encoding: chunked, identity"],
    ["a length twice", 400, `${length}\r\n${length}`],
    ["a list of lengths", 400, "Content-Length: 3, 3"],
    ["a length with a sign", 400, "Content-Length: +3"],
    ["a length in hexadecimal", 400, "Content-Length: 0x3"],
    ["an empty length", 400, "Content-Length:"],
    ["a length on a folded line", 400, "Content-Length:\r\n 3"],
    ["a length behind a space", 400, "Content-Length : 3"],
    ["a length beyond all", 400, "Content-Length: 99999999999999999999999"],
    ["a first line that is folded", 400, ` X: a\r\n${length}`],
    ["a line without a colon", 400, `X\r\n${length}`],
  ])("%s: %d, and nothing behind it is a request", async (_, status, headers) => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    expect(statuses(await say(opened, post(origin.port, headers)))).toEqual([`${status}`]);
    expect(origin.heard).toEqual([]);
    expect(opened.requests).toEqual([]);
  });

  test("a request in HTTP/1.0 has no coding", async () => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    const text = post(origin.port, `Transfer-Encoding:\r\n${length}`).replace("HTTP/1.1", "HTTP/1.0");
    expect(statuses(await say(opened, text))).toEqual(["400"]);
    expect(origin.heard).toEqual([]);
  });
});

describe("what is no request to a host is answered by the proxy", () => {
  const cases: [name: string, text: string, status: number][] = [
    ["a path", `GET / HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["another scheme", `GET ftp://origin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["https", `GET https://origin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["credentials in the URL", `GET http://user:hunter2@origin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["a host that is none", `GET http://origin%2etest/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["a backslash", `GET http://origin.test\\@evil.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["a host that is no ASCII", `GET http://\xf6rigin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["CONNECT to a host that is no ASCII", "CONNECT \xf6rigin.test:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["a port that is none", `GET http://origin.test:0/ HTTP/1.1\r\nHost: x\r\n${closing}`, 400],
    ["TRACE", `TRACE http://origin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 405],
    ["a method nobody knows", `FROB http://origin.test/ HTTP/1.1\r\nHost: x\r\n${closing}`, 405],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
    ["garbage", "\r\n\r\nhello there\r\n\r\n", 400],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    [
      "two lengths",
      `POST http://origin.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n${closing}abcd`,
      400,
    ],
    [
      "another coding",
      `POST http://origin.test/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n${closing}0\r\n\r\n`,
      501,
    ],
    ["chunks in HTTP/1.0", "POST http://origin.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400],
    ["a folded header", `GET http://origin.test/ HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n${closing}`, 400],
    ["a space before the colon", `GET http://origin.test/ HTTP/1.1\r\nHost : x\r\n${closing}`, 400],
    ["a bare line feed", `GET http://origin.test/ HTTP/1.1\r\nHost: x\nA: b\r\n${closing}`, 400],
    [
      "a head that is too long",
      `GET http://origin.test/ HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(8_200)}\r\n${closing}`,
      431,
    ],
    [
      "a WebSocket",
      "GET http://origin.test/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
      501,
    ],
    ["CONNECT without a port", "CONNECT origin.test HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["CONNECT with credentials", "CONNECT user:hunter2@origin.test:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["CONNECT with a path", "CONNECT /x HTTP/1.1\r\nHost: x\r\n\r\n", 400],
  ];

  test.each(cases)("%s", async (_, text, status) => {
    await using opened = await openProxies([]);
    const said = await say(opened, text);
    expect(said).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(said).not.toContain("hunter2");
    const reason = /x-koda-egress: (.+)\r\n/i.exec(said)?.[1] ?? "";
    expect(said).toEndWith(`\r\n\r\n${reason}\n`);
    expect(said).toMatch(/content-type: text\/plain; charset=utf-8\r\n/i);
    expect(opened.requests).toEqual([]);
  });

  test("no garbage of any kind breaks the proxies", async () => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    const good = `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${closing}0\r\n\r\n`;
    const heads = [
      good,
      `CONNECT origin.test:${origin.port} HTTP/1.1\r\nHost: x\r\n\r\n`,
      "\x05\x01\x00\x05\x01\x00\x03\x0borigin.test\x01\xbb",
    ];
    // Always the same numbers: a failure can be had again.
    let state = 1;
    const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
    const spoiled = (text: string) => {
      const bytes = Buffer.from(text, "latin1");
      for (let n = random(4); n >= 0; n--) bytes[random(bytes.length)] = random(256);
      return bytes.subarray(0, random(10) === 0 ? random(bytes.length) : bytes.length);
    };
    const one = async (port: number, bytes: Buffer) => {
      const socket = dialProxy(port);
      socket.end(bytes);
      await readAll(socket).catch(() => undefined);
      socket.destroy();
    };
    for (let round = 0; round < 20; round++) {
      const all = Array.from({ length: 20 }, () => spoiled(heads[random(heads.length)] ?? ""));
      await Promise.all(
        all.flatMap((bytes) => [one(opened.proxies.httpPort, bytes), one(opened.proxies.socksPort, bytes)]),
      );
    }
    expect(await say(opened, good)).toEndWith("hi");
    await until(() => opened.proxies.flows === 0, "the end of all flows");
  });

  test("a refusal names the host and the flag that would allow it", async () => {
    await using opened = await openProxies([]);
    const said = await say(opened, `GET http://evil.test:8080/ HTTP/1.1\r\nHost: x\r\n${closing}`);
    expect(said).toStartWith("HTTP/1.1 403 Forbidden\r\n");
    expect(said).toContain("--allow-net evil.test:8080");
    expect(opened.requests).toMatchObject([{ via: "http", host: "evil.test", port: 8080, verdict: "refused" }]);
  });

  test("an upgrade that may be ignored is ignored", async () => {
    await using origin = await startScripted(ok);
    await using opened = await openProxies([origin.port]);
    const said = await say(
      opened,
      `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\n` +
        "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    );
    expect(said).toEndWith("hi");
    expect(origin.heard[0]).not.toMatch(/upgrade|http2/i);
  });

  test("a tunnel cannot be had in the middle of an answer", async () => {
    await using origin = await startOrigin((socket) => void socket.resume());
    await using opened = await openProxies([origin.port]);
    const said = await say(
      opened,
      `GET http://origin.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n\r\nCONNECT origin.test:${origin.port} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ).catch((error: Error & { code?: string }) => error.code);
    expect(said).toBe("ECONNRESET");
    await until(() => opened.proxies.flows === 0, "the end of the flow");
  });

  test("a later head on a connection may not be slow either", async () => {
    await using opened = await openProxies([], { limits: { headMs: 400 } });
    const socket = dialProxy(opened.proxies.httpPort);
    let said = "";
    socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(socket, "end");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await until(() => said !== "", "the first answer");
    socket.write("GET / HT");
    await ended;
    socket.destroy();
    expect(statuses(said)).toEqual(["400", "408"]);
  });
});
