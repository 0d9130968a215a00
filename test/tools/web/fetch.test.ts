import { describe, expect, test } from "bun:test";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { formatUrl } from "../../../lib/tools/web/url.ts";
import { egressTo, fetched, redirect, reply, startSite, whyNot } from "../../support/site.ts";
import { until } from "../../support/until.ts";

describe("a request", () => {
  test("says what is wanted and nothing about who asks", async () => {
    await using site = await startSite({ "/a?b=c": reply("hello", { type: "text/plain" }) });
    const page = await fetched(site.url("/a?b=c#d"), { egress: egressTo([site]) });
    expect(page).toMatchObject({ status: 200, type: "text/plain", cut: undefined });
    expect(page.bytes.toString()).toBe("hello");
    const lines = site.heads[0]?.trimEnd().split("\r\n") ?? [];
    expect(lines[0]).toBe("GET /a?b=c HTTP/1.1");
    expect(lines.slice(1).map((line) => line.split(": ")[0])).toEqual([
      "Host",
      "User-Agent",
      "Accept",
      "Accept-Encoding",
      "Connection",
    ]);
    expect(lines[1]).toBe(`Host: 127.0.0.1:${site.port}`);
  });

  test("is told, with its host", async () => {
    await using site = await startSite({ "/": reply("hello") });
    const egress = egressTo([site]);
    await fetched(site.url(), { egress });
    expect(egress.requests).toEqual([{ via: "fetch", host: "127.0.0.1", port: site.port, verdict: "allowed" }]);
  });

  test("an error of the server is a page too", async () => {
    await using site = await startSite({ "/": reply("no", { status: "503 Busy" }) });
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect([page.status, page.bytes.toString()]).toEqual([503, "no"]);
  });

  test("leaves no connection behind", async () => {
    await using site = await startSite({ "/": (socket) => void socket.write(reply("kept open", { headers: {} })) });
    await fetched(site.url(), { egress: egressTo([site]) });
    await until(() => site.connections.size === 0, "the end of the connection");
  });
});

describe("who may not be reached", () => {
  const strict = { allow: [], limits: { totalMs: 10_000 } };

  test.each([
    ["http://127.0.0.1:PORT/", "127.0.0.1:PORT is not on the allowlist (--allow-net 127.0.0.1:PORT allows it)"],
    ["http://localhost:PORT/", "localhost:PORT is not on the allowlist (--allow-net localhost:PORT allows it)"],
    ["http://[::ffff:127.0.0.1]:PORT/", "is not on the allowlist"],
    ["http://named.test:PORT/", "which is a loopback address (--allow-net 127.0.0.1:PORT allows it)"],
  ])("%s", async (url, why) => {
    await using site = await startSite({ "/": reply("secret") });
    const port = (text: string) => text.replaceAll("PORT", String(site.port));
    const egress = egressTo([], { ...strict, allow: [`named.test:${site.port}`] });
    const failure = await whyNot(port(url), { egress });
    expect(failure.message).toContain(port(why));
    expect(failure.denied).toBe(true);
    expect(egress.requests).toMatchObject([{ via: "fetch", verdict: "refused", reason: failure.message }]);
    expect(site.heads).toEqual([]);
  });

  test.each([
    ["http://169.254.169.254/latest/meta-data/", "a cloud metadata address"],
    ["http://[fd00:ec2::254]/", "a cloud metadata address"],
    ["http://[::ffff:a9fe:a9fe]/", "a cloud metadata address (169.254.169.254)"],
    ["http://[64:ff9b::a9fe:a9fe]/", "a cloud metadata address (169.254.169.254)"],
    ["http://metadata.google.internal/", "a name of this machine or its network"],
    ["http://localhost/", "a name of this machine or its network"],
    ["http://metadata.example.com/", "resolves to 169.254.169.254, which is a cloud metadata address"],
    ["http://10.0.0.1/", "a private address"],
  ])("%s, although every public host may be", async (url, why) => {
    const egress = egressTo([], { mode: "open", resolver: async () => ["169.254.169.254"] });
    const failure = await whyNot(url, { egress });
    expect(failure.message).toContain(why);
    expect(failure.denied).toBe(true);
  });

  test("anybody, without a network", async () => {
    await using site = await startSite({ "/": reply("hello") });
    const failure = await whyNot(site.url(), { egress: egressTo([site], { mode: "none" }) });
    expect(failure).toMatchObject({ denied: true, message: expect.stringContaining("--net none") });
    expect(site.heads).toEqual([]);
  });

  test("a name that has one forbidden address among good ones", async () => {
    await using site = await startSite({ "/": reply("hello") });
    const resolver = async () => ["127.0.0.1", "10.0.0.1"];
    const egress = egressTo([site], { allow: [`two.test:${site.port}`], resolver });
    const failure = await whyNot(`http://two.test:${site.port}/`, { egress });
    expect(failure).toMatchObject({ denied: true, message: expect.stringContaining("10.0.0.1") });
    expect(site.heads).toEqual([]);
  });

  test("what does not answer is failed, not denied", async () => {
    const nobody = await startSite({});
    await nobody[Symbol.asyncDispose]();
    const egress = egressTo([nobody]);
    const failure = await whyNot(nobody.url(), { egress });
    expect(failure).toEqual({ denied: false, message: `127.0.0.1:${nobody.port} cannot be reached (ECONNREFUSED)` });
    expect(egress.requests).toMatchObject([{ verdict: "failed" }]);
  });

  test("a name that nobody knows", async () => {
    const egress = egressTo([], { allow: ["no.test"], resolver: () => Promise.reject(new Error("no such name")) });
    const failure = await whyNot("http://no.test/", { egress });
    expect(failure).toEqual({ denied: false, message: 'no.test could not be looked up ("no such name")' });
  });
});

describe("a name that leads elsewhere the next time", () => {
  test("is looked up once, and the connection goes to what was checked", async () => {
    await using site = await startSite({ "/": reply("checked") });
    let lookups = 0;
    const resolver = async () => [["127.0.0.1"], ["127.0.0.2"]][lookups++] ?? [];
    const egress = egressTo([site], { allow: [`turning.test:${site.port}`], resolver });
    const page = await fetched(`http://turning.test:${site.port}/`, { egress });
    expect(page.bytes.toString()).toBe("checked");
    expect(site.heads[0]).toContain(`Host: turning.test:${site.port}`);
    expect(lookups).toBe(1);
  });

  test("is refused when a redirect to itself leads there", async () => {
    await using site = await startSite({ "/": redirect("/again"), "/again": reply("secret") });
    let lookups = 0;
    const resolver = async () => (lookups++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]);
    const egress = egressTo([site], { allow: [`turning.test:${site.port}`], resolver });
    const failure = await whyNot(`http://turning.test:${site.port}/`, { egress });
    expect(failure.denied).toBe(true);
    expect(failure.message).toContain(`after a redirect to "http://turning.test:${site.port}/again"`);
    expect(failure.message).toContain("resolves to 127.0.0.2");
    expect(site.heads).toHaveLength(1);
  });
});

describe("redirects", () => {
  test.each(["301 A", "302 B", "303 C", "307 D", "308 E"])("%s is followed, wherever it stands", async (status) => {
    await using target = await startSite({ "/there?x=y": reply("arrived") });
    await using site = await startSite({ "/a/b": redirect(target.url("/there?x=y#z"), status) });
    const egress = egressTo([site, target]);
    const page = await fetched(site.url("/a/b"), { egress });
    expect(page.bytes.toString()).toBe("arrived");
    expect(formatUrl(page.url)).toBe(target.url("/there?x=y"));
    expect(egress.requests.map(({ port, verdict }) => [port, verdict])).toEqual([
      [site.port, "allowed"],
      [target.port, "allowed"],
    ]);
  });

  test("a relative one is read from where it stands; its bytes stay what they are", async () => {
    await using site = await startSite({
      "/a/b": redirect("../c d/\u00c3\u00a4"),
      "/c%20d/%C3%A4": reply("arrived"),
    });
    const page = await fetched(site.url("/a/b"), { egress: egressTo([site]) });
    expect(page.bytes.toString()).toBe("arrived");
  });

  test.each([
    ["http://127.0.0.1:TRAP/", true, "is not on the allowlist"],
    ["//127.0.0.1:TRAP/", true, "is not on the allowlist"],
    ["http://localhost:TRAP/", true, "is not on the allowlist"],
    ["http://named.test:TRAP/", true, "which is a loopback address"],
    ["http://169.254.169.254/latest/", true, "is not on the allowlist"],
    ["http://user@127.0.0.1:TRAP/", false, "a user or a password"],
    ["http://127.1:TRAP/", false, "ends in a number"],
    ["http://h\u00e4.test:TRAP/", false, "is not allowed in a name"],
    ["file:///etc/hostname", false, "expected an absolute http:// or https:// URL"],
    ["javascript:1", false, "expected an absolute http:// or https:// URL"],
    ["http:127.0.0.1:TRAP/", false, "expected an absolute http:// or https:// URL"],
  ])("to %s leads nowhere", async (location, denied, why) => {
    await using trap = await startSite({ "/": reply("secret") });
    await using site = await startSite({ "/": redirect(location.replace("TRAP", String(trap.port))) });
    const failure = await whyNot(site.url(), { egress: egressTo([site], { allow: [`named.test:${trap.port}`] }) });
    expect(failure.message).toContain(why);
    expect(failure.denied).toBe(denied);
    expect(trap.heads).toEqual([]);
  });

  test("are five at most, in a circle or not", async () => {
    await using site = await startSite((path) => redirect(`/${Number(path.slice(1)) + 1}`));
    const failure = await whyNot(site.url("/0"), { egress: egressTo([site]) });
    expect(failure).toMatchObject({ denied: false, message: expect.stringContaining("more than 5 redirects") });
    expect(site.heads).toHaveLength(6);

    await using circle = await startSite({ "/": redirect("/") });
    expect((await whyNot(circle.url(), { egress: egressTo([circle]) })).message).toContain("more than 5 redirects");
  });

  test("a 304 or a redirect that says not whereto is a page", async () => {
    await using site = await startSite({
      "/304": "HTTP/1.1 304 Not Modified\r\nLocation: /x\r\n\r\n",
      "/302": reply("lost", { status: "302 Found" }),
    });
    const egress = egressTo([site]);
    expect((await fetched(site.url("/304"), { egress })).status).toBe(304);
    expect((await fetched(site.url("/302"), { egress })).bytes.toString()).toBe("lost");
  });
});

const chunked = (chunks: readonly string[]) =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")}`;

describe("a body", () => {
  test.each([
    ["in chunks", `${chunked(["one ", "two"])}0\r\n\r\n`, "one two"],
    ["that ends with the connection", "HTTP/1.0 200 OK\r\n\r\none two", "one two"],
    ["after hints", `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${reply("one two").toString()}`, "one two"],
    ["shorter than what follows it", `${reply("one two").toString()} and more`, "one two"],
    ["of nothing", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    ["gzip", reply(gzipSync("one two"), { headers: { "Content-Encoding": "gzip" } }), "one two"],
    ["GZIP by its old name", reply(gzipSync("one two"), { headers: { "Content-Encoding": "X-GZIP" } }), "one two"],
    ["br", reply(brotliCompressSync("one two"), { headers: { "Content-Encoding": "br" } }), "one two"],
    ["deflate", reply(deflateSync("one two"), { headers: { "Content-Encoding": "deflate" } }), "one two"],
    ["identity", reply("one two", { headers: { "Content-Encoding": "identity" } }), "one two"],
  ])("%s", async (_, answer, text) => {
    await using site = await startSite({ "/": answer });
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect([page.bytes.toString(), page.cut]).toEqual([text, undefined]);
  });

  test.each([
    [
      "in an unsupported encoding",
      reply("x", { headers: { "Content-Encoding": "zstd" } }),
      'unsupported Content-Encoding ("zstd")',
    ],
    ["packed twice", reply("x", { headers: { "Content-Encoding": "gzip, gzip" } }), "more than once (gzip, gzip)"],
    [
      "that is no gzip",
      reply("plain text", { headers: { "Content-Encoding": "gzip" } }),
      "not packed as its head says",
    ],
    [
      "that is no brotli",
      reply("This is no brotli at all. ".repeat(20), { headers: { "Content-Encoding": "br" } }),
      "not packed as its head says",
    ],
  ])("%s is refused", async (_, answer, why) => {
    await using site = await startSite({ "/": answer });
    const failure = await whyNot(site.url(), { egress: egressTo([site]) });
    expect(failure).toMatchObject({ denied: false, message: expect.stringContaining(why) });
  });

  test.each([
    ["a length that is too long", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe beginning"],
    ["chunks without an end", chunked(["the ", "beginning"])],
    ["a chunk that is cut", `${chunked(["the beginning"])}ff\r\n`],
  ])("%s is shown as far as it came, and said to be cut", async (_, answer) => {
    await using site = await startSite({ "/": answer });
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect(page.bytes.toString()).toBe("the beginning");
    expect(page.cut).toBe("the connection closed before its end");
  });

  test("in half of a gzip is shown as far as it can be unpacked", async () => {
    const packed = gzipSync(
      Buffer.concat([Buffer.from("the beginning "), crypto.getRandomValues(new Uint8Array(50_000))]),
    );
    await using site = await startSite({
      "/": reply(packed.subarray(0, 30_000), { headers: { "Content-Encoding": "gzip", "Content-Length": "50100" } }),
    });
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect(page.bytes.toString()).toStartWith("the beginning ");
    expect(page.cut).toBe("the connection closed before its end");
  });
});

describe("limits", () => {
  const limits = { bodyBytes: 10_000 };

  test("a body of exactly as much is whole, one byte more is cut", async () => {
    await using site = await startSite((path) => reply("x".repeat(Number(path.slice(1)))));
    const egress = egressTo([site]);
    const [whole, cut] = [
      await fetched(site.url("/10000"), { egress, limits }),
      await fetched(site.url("/10001"), { egress, limits }),
    ];
    expect([whole.bytes.length, whole.cut]).toEqual([10_000, undefined]);
    expect([cut.bytes.length, cut.cut]).toEqual([10_000, "only the first 10,000 bytes were read"]);
  });

  test("a body without end is left", async () => {
    await using site = await startSite({
      "/": (socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write("x".repeat(10_000)));
        };
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.on("drain", more);
        more();
      },
    });
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect(page.bytes.length).toBe(1024 * 1024);
    expect(page.cut).toBe("only the first 1,048,576 bytes were read");
    await until(() => site.connections.size === 0, "the end of the connection");
  });

  const brotliQuickly = (bytes: Buffer) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliQuickly],
    ["deflate", deflateSync],
  ])("a %s bomb goes off no further", async (coding, pack) => {
    const bomb = pack(Buffer.alloc(100_000_000));
    await using site = await startSite({ "/": reply(bomb, { headers: { "Content-Encoding": coding } }) });
    const before = process.memoryUsage().rss;
    const page = await fetched(site.url(), { egress: egressTo([site]) });
    expect([page.bytes.length, page.cut]).toEqual([1024 * 1024, "only the first 1,048,576 bytes were read"]);
    expect(process.memoryUsage().rss - before).toBeLessThan(90_000_000);
  });

  test("packed bytes that hold nothing count as well", async () => {
    const empty = Buffer.concat(Array.from({ length: 1000 }, () => gzipSync("")));
    await using site = await startSite({ "/": reply(empty, { headers: { "Content-Encoding": "gzip" } }) });
    const page = await fetched(site.url(), { egress: egressTo([site]), limits });
    expect([page.bytes.length, page.cut]).toEqual([0, "only the first 10,000 bytes were read"]);
  });

  test("a server that says nothing is left when the time is over", async () => {
    await using site = await startSite({ "/": () => {} });
    const failure = await whyNot(site.url(), { egress: egressTo([site]), limits: { totalMs: 200 } });
    expect(failure).toEqual({ denied: false, message: "it timed out after 0.2 s" });
    await until(() => site.connections.size === 0, "the end of the connection");
  });

  test("of a body that comes too slowly there is what came in time", async () => {
    await using site = await startSite({ "/": (socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nthe beginning") });
    const page = await fetched(site.url(), { egress: egressTo([site]), limits: { totalMs: 1000 } });
    expect([page.bytes.toString(), page.cut]).toEqual(["the beginning", "it timed out after 1 s"]);
    await until(() => site.connections.size === 0, "the end of the connection");
  });

  test("the time is for all redirects together", async () => {
    await using site = await startSite((path) => (socket) => {
      setTimeout(() => socket.end(redirect(`${path}x`)), 150);
    });
    const failure = await whyNot(site.url("/x"), {
      egress: egressTo([site]),
      limits: { totalMs: 400, redirects: 1000 },
    });
    expect(failure.message).toContain("it timed out after 0.4 s");
  });

  test.each([
    [
      "a head that is too large",
      `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\nbody`,
      /headers of more than 65536 bytes/,
    ],
    ["what is no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", /does not speak HTTP/],
    ["an end without a word", "", /closed the connection before it answered/],
    ["half a head", "HTTP/1.1 200 OK\r\nContent-", /closed the connection before it answered/],
    [
      "another protocol",
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
      /cannot be understood|unasked/,
    ],
    [
      "two lengths",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
      /does not speak HTTP|broke off/,
    ],
    ["an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx", /unsupported Transfer-Encoding/],
  ])("%s is refused", async (_, answer, why) => {
    await using site = await startSite({ "/": answer });
    const failure = await whyNot(site.url(), { egress: egressTo([site]), limits: { totalMs: 10_000 } });
    expect(failure.message).toMatch(why);
    expect(failure.denied).toBe(false);
  });

  test.each(["before the head", "in the body", "in a redirect"])(
    "an abort %s ends it with its reason",
    async (when) => {
      const abort = new AbortController();
      const reason = new Error("the user has had enough");
      await using site = await startSite({
        "/": (socket) => {
          if (when === "in the body") socket.write("HTTP/1.1 200 OK\r\n\r\nthe beginning");
          if (when === "in a redirect") socket.end(redirect("/next"));
          else setTimeout(() => abort.abort(reason), 50);
        },
        "/next": () => abort.abort(reason),
      });
      const going = fetched(site.url(), { egress: egressTo([site]), signal: abort.signal });
      expect(await going.catch((error: unknown) => error)).toBe(reason);
      await until(() => site.connections.size === 0, "the end of the connection");
    },
  );
});
