import { describe, expect, test } from "bun:test";
import { parseUpstream, proxyFor } from "../../../lib/egress/route/upstream.ts";
import { parseAuthority, type HostPort } from "../../../lib/egress/rules/host.ts";
import { KodaError } from "../../../lib/errors.ts";
import {
  ask,
  connectWay,
  dialProxy,
  echo,
  openProxies,
  readAll,
  socksWay,
  startOrigin,
  ways,
  type Way,
} from "../../support/egress.ts";
import { until } from "../../support/until.ts";

function targetOf(text: string): HostPort {
  const target = parseAuthority(text, 443);
  if ("fault" in target) throw new Error(target.fault);
  return target;
}

describe("the environment's proxies", () => {
  test.each([
    ["http://proxy.corp:3128", { protocol: "http", host: "proxy.corp", port: 3128 }],
    ["proxy.corp:3128", { protocol: "http", host: "proxy.corp", port: 3128 }],
    ["HTTPS://Proxy.Corp/", { protocol: "https", host: "proxy.corp", port: 443 }],
    ["http://[2001:db8::1]:8080/", { protocol: "http", host: "2001:db8::1", port: 8080 }],
    ["socks5://10.0.0.1", { protocol: "socks5", host: "10.0.0.1", port: 1080 }],
    ["socks5h://u:p%40ss%3a@h:9", { protocol: "socks5", host: "h", port: 9, user: "u", password: "p@ss:" }],
    ["http://only@h:9", { protocol: "http", host: "h", port: 9, user: "only", password: "" }],
    ["http://u:p@ss@h:9", { protocol: "http", host: "h", port: 9, user: "u", password: "p@ss" }],
  ])("%s", (value, proxy) => {
    expect(parseUpstream({ HTTPS_PROXY: value })?.tunnel).toEqual(proxy as never);
  });

  test.each([
    "ftp://h:1",
    "socks4://h:1",
    "http://",
    "http://h:0",
    "http://h:99999",
    "http://user:hunter2@h h:1",
    "http://u:hunter2%zz@h:1",
    "::",
  ])("%s is an error that names the variable and no password", (value) => {
    const parse = () => parseUpstream({ all_proxy: value });
    expect(parse).toThrow(KodaError);
    expect(parse).toThrow(/all_proxy/);
    expect(parse).not.toThrow(/hunter2/);
  });

  test("none of them is none", () => {
    expect(parseUpstream({})).toBeUndefined();
    expect(parseUpstream({ HTTP_PROXY: "", https_proxy: " ", NO_PROXY: "x" })).toBeUndefined();
  });

  test("each kind of traffic has its own, and ALL_PROXY is for what has none; lower case goes first", () => {
    const upstream = parseUpstream({
      HTTP_PROXY: "http://upper:1",
      http_proxy: "http://lower:1",
      ALL_PROXY: "socks5://all:1",
    });
    expect(proxyFor(targetOf("a.test"), upstream, "request")?.host).toBe("lower");
    expect(proxyFor(targetOf("a.test"), upstream, "tunnel")?.host).toBe("all");
    expect(proxyFor(targetOf("a.test"), parseUpstream({ HTTP_PROXY: "http://h:1" }), "tunnel")).toBeUndefined();
  });

  test.each([
    ["*", "a.test", true],
    ["a.test", "a.test", true],
    ["a.test", "b.a.test", true],
    [".a.test", "b.a.test", true],
    ["*.a.test", "b.a.test", true],
    ["A.Test.", "a.test", true],
    ["a.test", "ba.test", false],
    ["a.test:8080", "a.test:8080", true],
    ["a.test:8080", "a.test:443", false],
    ["x, a.test", "a.test", true],
    ["x a.test", "a.test", true],
    ["10.0.0.0/8", "10.1.2.3", true],
    ["10.0.0.0/8", "11.1.2.3", false],
    ["10.0.0.0/33", "10.1.2.3", false],
    ["fd00::/8", "[fd12::1]", true],
    ["10.1.2.3", "10.1.2.3", true],
    ["fd12::1", "[fd12::1]", true],
    ["a b:x", "a.test", false],
    ["", "localhost", true],
    ["", "127.0.0.1", true],
    ["", "[::1]", true],
    ["", "a.test", false],
  ])("NO_PROXY=%s and %s: direct is %p", (noProxy, host, isDirect) => {
    const upstream = parseUpstream({ ALL_PROXY: "http://proxy.corp:1", NO_PROXY: noProxy });
    expect(proxyFor(targetOf(host), upstream, "tunnel") === undefined).toBe(isDirect);
  });
});

/** No name is known here; what the user's proxy knows is `origin.test`. */
const blind = () => Promise.reject(new Error("no such name"));

describe.each([
  ["http", connectWay],
  ["socks5h", socksWay],
])("through an upstream with %s", (scheme, upstreamWay) => {
  describe.each([...ways])("a tunnel by $name", (way: Way) => {
    test("reaches what only the upstream can look up", async () => {
      await using origin = await startOrigin(echo);
      await using further = await openProxies([origin.port]);
      const upstream = parseUpstream({ ALL_PROXY: `${scheme}://127.0.0.1:${upstreamWay.port(further.proxies)}` });
      await using opened = await openProxies([origin.port], { resolver: blind, ...(upstream && { upstream }) });
      const { said, socket } = await ask(way, opened.proxies, origin.port, { early: Buffer.from("early ") });
      expect(way.isYes(said)).toBe(true);
      socket.end("and late");
      expect((await readAll(socket)).toString()).toBe("early and late");
      expect(further.requests).toMatchObject([{ host: "origin.test", verdict: "allowed" }]);
      await until(() => further.proxies.flows === 0, "the end of the flow");
    });

    test("asks the rules first, about the name and about its addresses", async () => {
      await using further = await openProxies([]);
      const upstream = parseUpstream({ ALL_PROXY: `${scheme}://127.0.0.1:${upstreamWay.port(further.proxies)}` });
      await using opened = await openProxies([], {
        allow: ["inside.test"],
        resolver: async () => ["169.254.169.254"],
        ...(upstream && { upstream }),
      });
      for (const host of ["evil.test", "inside.test"]) {
        expect(way.isYes((await ask(way, opened.proxies, 443, { host })).said)).toBe(false);
      }
      expect(opened.requests.map(({ verdict }) => verdict)).toEqual(["refused", "refused"]);
      expect(further.requests).toEqual([]);
    });

    test("is told who refused", async () => {
      await using further = await openProxies([]);
      const port = upstreamWay.port(further.proxies);
      const upstream = parseUpstream({ ALL_PROXY: `${scheme}://user:hunter2@127.0.0.1:${port}` });
      await using opened = await openProxies([9], { resolver: blind, ...(upstream && { upstream }) });
      const { said } = await ask(way, opened.proxies, 9);
      expect(said.toString("latin1", 0, 12)).toMatch(way === connectWay ? "HTTP/1.1 502" : "\x05\x00\x05\x01");
      expect(opened.requests).toMatchObject([
        { verdict: "failed", reason: expect.stringContaining(`127.0.0.1:${port}`) },
      ]);
      expect(JSON.stringify(opened.requests) + said.toString("latin1")).not.toContain("hunter2");
    });
  });

  test("a plain request reaches what only the upstream can look up", async () => {
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) =>
        new Response(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`),
    });
    const port = server.port ?? 0;
    await using further = await openProxies([port]);
    const upstream = parseUpstream({ ALL_PROXY: `${scheme}://127.0.0.1:${upstreamWay.port(further.proxies)}` });
    await using opened = await openProxies([port], { resolver: blind, ...(upstream && { upstream }) });
    const reply = await fetch(`http://origin.test:${port}/a`, {
      method: "POST",
      body: "hello",
      proxy: `http://127.0.0.1:${opened.proxies.httpPort}`,
    });
    expect(await reply.text()).toBe("POST /a hello");
    expect(further.requests).toMatchObject([{ host: "origin.test", verdict: "allowed" }]);
  });
});

describe("an upstream with credentials", () => {
  const credentials = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;

  test("is told them with CONNECT and with a plain request, and nobody else is", async () => {
    const heard: string[] = [];
    await using further = await startOrigin((socket) => {
      socket.once("data", (chunk: Buffer) => {
        heard.push(chunk.toString());
        if (chunk.toString().startsWith("CONNECT")) socket.write("HTTP/1.1 200 OK\r\n\r\nearly");
        else socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
      });
    });
    const upstream = parseUpstream({ ALL_PROXY: `http://user:p%40ss@127.0.0.1:${further.port}` });
    await using opened = await openProxies([9], { resolver: blind, ...(upstream && { upstream }) });

    const { said, socket } = await ask(connectWay, opened.proxies, 9);
    expect(connectWay.isYes(said)).toBe(true);
    const early = new Promise<string>((resolve) => socket.once("data", (chunk: Buffer) => resolve(chunk.toString())));
    socket.resume();
    expect(await early).toBe("early");
    socket.destroy();

    const plain = dialProxy(opened.proxies.httpPort);
    plain.write("GET http://origin.test:9/x HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n");
    expect((await readAll(plain)).toString()).toEndWith("hi");
    expect(heard[0]).toBe(
      `CONNECT origin.test:9 HTTP/1.1\r\nHost: origin.test:9\r\nProxy-Authorization: ${credentials}\r\nConnection: keep-alive\r\n\r\n`,
    );
    expect(heard[1]).toBe(
      `GET http://origin.test:9/x HTTP/1.1\r\nHost: origin.test:9\r\nProxy-Authorization: ${credentials}\r\nConnection: close\r\n\r\n`,
    );
  });

  test.each([
    [
      "407",
      "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
      "credentials",
    ],
    ["403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "403"],
    ["nothing", "", "broke off"],
    ["garbage", "hello\r\n\r\n", "broke off"],
  ])("answers %s: the client is told 502 and who it was", async (_, answer, why) => {
    await using further = await startOrigin((socket) => void socket.once("data", () => socket.end(answer)));
    const upstream = parseUpstream({ ALL_PROXY: `http://user:hunter2@127.0.0.1:${further.port}` });
    await using opened = await openProxies([9], { resolver: blind, ...(upstream && { upstream }) });
    const { said } = await ask(connectWay, opened.proxies, 9);
    expect(said.toString()).toStartWith("HTTP/1.1 502 ");
    expect(said.toString()).toContain(`127.0.0.1:${further.port}`);
    expect(said.toString()).toContain(why);
    expect(said.toString()).not.toContain("hunter2");
  });

  test("asks a plain request for others: the client is told 502, not to give its own", async () => {
    await using further = await startOrigin(
      (socket) => void socket.once("data", () => socket.end("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")),
    );
    const upstream = parseUpstream({ ALL_PROXY: `http://127.0.0.1:${further.port}` });
    await using opened = await openProxies([9], { resolver: blind, ...(upstream && { upstream }) });
    const plain = dialProxy(opened.proxies.httpPort);
    plain.write("GET http://origin.test:9/x HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n");
    const said = (await readAll(plain)).toString();
    expect(said).toStartWith("HTTP/1.1 502 ");
    expect(said).toContain(`127.0.0.1:${further.port}`);
  });

  test("is not there: the client is told 502", async () => {
    const further = await startOrigin(() => {});
    await further[Symbol.asyncDispose]();
    const upstream = parseUpstream({ ALL_PROXY: `http://127.0.0.1:${further.port}` });
    await using opened = await openProxies([9], { resolver: blind, ...(upstream && { upstream }) });
    const { said } = await ask(connectWay, opened.proxies, 9);
    expect(said.toString()).toContain("cannot be reached (ECONNREFUSED)");
  });
});
