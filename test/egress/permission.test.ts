import { expect, test } from "bun:test";
import { permitted } from "../../lib/egress/permission.ts";
import { readAuthority } from "../../lib/egress/rules/authority.ts";
import { authorityOf } from "../../lib/egress/rules/authority.ts";
import { resolveChecked } from "../../lib/egress/rules/resolve.ts";
import type { HostAnswer, WayOut } from "../../lib/egress/wayout.ts";
import { answered, ask, connectWay, dialProxy, echo, openProxies, startOrigin, ways } from "../support/egress.ts";
import { publicAddress, rulesOf } from "../support/reach.ts";
import { egressTo, fetched, reply, startSite, whyNot } from "../support/site.ts";
import { until } from "../support/until.ts";

const { signal } = new AbortController();

/** Asks for each of them, and says which of them the user was asked about. */
async function askedAbout(authorities: readonly string[], rules: Parameters<typeof rulesOf>[0]): Promise<string[]> {
  const asked: string[] = [];
  const wayOut: WayOut = {
    rules: rulesOf(rules),
    onRequest: () => {},
    ask: async ({ target }) => {
      asked.push(authorityOf(target));
      return { allow: false };
    },
  };
  for (const authority of authorities) {
    const target = readAuthority(authority);
    if (!("fault" in target)) await permitted({ target }, wayOut, signal);
  }
  return asked;
}

const unlisted = ["example.com:443", "example.com:22", "xn--bcher-kva.example:443", "8.8.8.8:53", "[2606:4700::1]:443"];

test("hosts that only the list lacks are asked about", async () => {
  expect(await askedAbout(unlisted, {})).toEqual(unlisted);
});

test("nobody is asked about hosts that another rule allows or refuses", async () => {
  expect(await askedAbout(unlisted, { mode: "none" })).toEqual([]);
  expect(await askedAbout(unlisted, { mode: "open" })).toEqual([]);
  const deny = ["*.example", "example.com", "8.8.8.8", "[2606:4700::1]"];
  expect(await askedAbout(unlisted, { deny })).toEqual([]);
  expect(await askedAbout(["github.com:443", "a.example.com:8080"], { allow: ["a.example.com:8080"] })).toEqual([]);
});

test.each([
  "localhost:80",
  "intranet:80",
  "printer.local:80",
  "metadata.google.internal:80",
  "127.0.0.1:80",
  "10.1.2.3:80",
  "100.64.0.1:80",
  "[::1]:80",
  "[fe80::1]:80",
  "[::ffff:10.1.2.3]:80",
  "0x7f.1:80",
  "exa mple.com:80",
  "example.com%00:80",
  "user@example.com:80",
  "B\u00fccher.example:80",
])("nobody is asked about %s", async (authority) => {
  expect(await askedAbout([authority], {})).toEqual([]);
});

const allowing = async (): Promise<HostAnswer> => ({ allow: true });

test("what the user allows is one host on one port, and each of its addresses has to be public", async () => {
  const wayOut: WayOut = { rules: rulesOf(), onRequest: () => {}, ask: allowing };
  const target = readAuthority("example.com:8443");
  if ("fault" in target) throw new Error(target.fault);
  const way = await permitted({ target }, wayOut, signal);
  if ("reason" in way) throw new Error(way.reason);
  const resolved = (port: number, ...found: string[]) =>
    resolveChecked({ ...target, port }, way.rules, { resolver: async () => found, signal });
  expect(await resolved(8443, publicAddress)).toEqual({ addresses: [publicAddress] });
  expect(await resolved(443, publicAddress)).toMatchObject({ kind: "rule" });
  expect(await resolved(8443, publicAddress, "10.1.2.3")).toMatchObject({
    refused: expect.stringContaining("a private address"),
  });
});

for (const way of ways) {
  test(`a connection by ${way.name} waits for the answer, longer than for its host`, async () => {
    await using origin = await startOrigin(echo);
    const told = Promise.withResolvers<HostAnswer>();
    const limits = { connectMs: 50 };
    await using opened = await openProxies([origin.port], { limits, ask: () => told.promise });
    const replying = ask(way, opened.proxies, origin.port, { host: "asked.test" });
    await until(() => opened.proxies.flows === 1, "the connection");
    await Bun.sleep(100);
    expect(opened.requests).toEqual([]);
    told.resolve({ allow: true });
    const { said, socket } = await replying;
    expect(way.isYes(said)).toBe(true);
    expect(opened.requests).toMatchObject([{ host: "asked.test", verdict: "allowed" }]);
    socket.destroy();
  });

  test(`a connection by ${way.name} is refused as the user says`, async () => {
    await using opened = await openProxies([], { ask: async () => ({ allow: false, reason: "they said no" }) });
    const { said } = await ask(way, opened.proxies, 443, { host: "asked.test" });
    expect(answered(way, said)).toBe(way === connectWay ? "403" : "2");
    expect(opened.requests).toMatchObject([{ verdict: "refused", reason: "they said no" }]);
  });

  test(`a name that is allowed by ${way.name} and leads to this machine is refused`, async () => {
    await using origin = await startOrigin(echo);
    await using opened = await openProxies([], { ask: allowing });
    const { said } = await ask(way, opened.proxies, origin.port, { host: "asked.test" });
    expect(way.isYes(said)).toBe(false);
    expect(opened.requests).toMatchObject([{ reason: expect.stringContaining("a loopback address") }]);
    expect(origin.connections.size).toBe(0);
  });
}

test("proxies that are closed let nobody wait for an answer", async () => {
  const opened = await openProxies([], { ask: () => new Promise(() => {}) });
  const socket = dialProxy(opened.proxies.httpPort);
  socket.write(Buffer.concat(connectWay.hello("asked.test", 443)));
  await until(() => opened.proxies.flows === 1, "the connection");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await opened[Symbol.asyncDispose]();
  await closed;
  expect(opened.proxies.flows).toBe(0);
});

test("the time for an answer is none of a page's", async () => {
  await using site = await startSite({ "/": reply("hello") });
  const slow = async (): Promise<HostAnswer> => (await Bun.sleep(300), { allow: true });
  const egress = { ...egressTo([site]), ask: slow };
  const page = await fetched(`http://asked.test:${site.port}/`, { egress, limits: { totalMs: 200 } });
  expect(page.status).toBe(200);
  const denying = { ...egress, ask: async () => ({ allow: false as const, reason: "they said no" }) };
  expect(await whyNot(`http://asked.test:${site.port}/`, { egress: denying })).toEqual({
    message: "they said no",
    denied: true,
  });
});

test("whoever stops a page waits for no answer", async () => {
  const stop = new AbortController();
  const egress = { ...egressTo([]), ask: () => (stop.abort(new Error("stopped")), new Promise<HostAnswer>(() => {})) };
  expect(await whyNot("http://asked.test/", { egress, signal: stop.signal })).toMatchObject({ message: "stopped" });
});
