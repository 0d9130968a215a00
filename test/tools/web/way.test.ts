import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseUpstream } from "../../../lib/egress/route/upstream.ts";
import { makeCertificate, type Certificate } from "../../support/certificate.ts";
import { openProxies, startOrigin } from "../../support/egress.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { egressTo, fetched, redirect, reply, startSite, whyNot } from "../../support/site.ts";

type SecureSite = AsyncDisposable & { port: number; asked: (string | undefined)[] };

/** A server that says who was asked for; `/down` leads to plain HTTP. */
async function startSecureSite({ certificate, key }: Certificate, plain = ""): Promise<SecureSite> {
  const asked: (string | undefined)[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    asked.push(request.headers.host);
    if (request.url === "/down") response.writeHead(302, { Location: plain });
    response.end("hello");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a process that trusts the certificate makes of the URLs. */
async function fetchTrusting({ certificate }: Certificate, place: Place, urls: readonly string[]): Promise<string[]> {
  const file = place.write("authority.pem", certificate);
  const program = Bun.spawn([process.execPath, join(import.meta.dir, "../../support/fetch-program.ts"), ...urls], {
    env: { ...place.env, NODE_EXTRA_CA_CERTS: file },
    stdout: "pipe",
    stderr: "inherit",
  });
  return JSON.parse(await program.stdout.text()) as string[];
}

describe("TLS", () => {
  test("with a certificate that nobody vouches for is refused before a word is said", async () => {
    await using site = await startSecureSite(makeCertificate(["origin.test"]));
    const egress = egressTo([site], { allow: [`origin.test:${site.port}`] });
    const failure = await whyNot(`https://origin.test:${site.port}/`, { egress });
    expect(failure.message).toContain(
      `origin.test:${site.port} has no trusted TLS certificate (DEPTH_ZERO_SELF_SIGNED_CERT`,
    );
    expect(failure.denied).toBe(false);
    expect(site.asked).toEqual([]);
  });

  test("is for the name in the URL, and never left for plain HTTP", async () => {
    await using place = makePlace();
    const certificate = makeCertificate(["origin.test"]);
    await using plain = await startSite({ "/": reply("plain") });
    await using site = await startSecureSite(certificate, plain.url());
    const urls = ["origin.test:PORT/", "other.test:PORT/", "127.0.0.1:PORT/", "origin.test:PORT/down"];
    const outcomes = await fetchTrusting(
      certificate,
      place,
      urls.map((url) => `https://${url.replace("PORT", String(site.port))}`),
    );
    expect(outcomes).toEqual([
      "200 hello",
      expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
      expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
      expect.stringContaining(`it redirects from https to "${plain.url()}"`),
    ]);
    expect(site.asked).toEqual([`origin.test:${site.port}`, `origin.test:${site.port}`]);
    expect(plain.heads).toEqual([]);
  });

  test.each([
    ["what speaks plain HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n"],
    ["what says nothing and goes", ""],
  ])("with %s is a failure", async (_, answer) => {
    await using origin = await startOrigin((socket) => {
      socket.once("data", () => socket.end(answer));
    });
    const failure = await whyNot(`https://127.0.0.1:${origin.port}/`, { egress: egressTo([origin]) });
    expect(failure.message).toMatch(/TLS/);
  });

  test("with what says nothing and stays ends with the time", async () => {
    await using origin = await startOrigin((socket) => void socket.on("end", () => socket.end()));
    const errand = { egress: egressTo([origin]), limits: { totalMs: 300 } };
    const failure = await whyNot(`https://127.0.0.1:${origin.port}/`, errand);
    expect(failure.message).toBe("it timed out after 0.3 s");
  });
});

/** No name is known here; what the user's proxy knows is `origin.test`. */
const blind = () => Promise.reject(new Error("no such name"));

describe("through the user's own proxy", () => {
  test("plain HTTP is asked of it, with the user's credentials for it", async () => {
    await using proxy = await startSite({ "http://only.test/a?b": reply("from the proxy") });
    const upstream = parseUpstream({ HTTP_PROXY: `http://me:secret@127.0.0.1:${proxy.port}` });
    const egress = egressTo([], { allow: ["only.test"], resolver: blind, ...(upstream && { upstream }) });
    const page = await fetched("http://only.test/a?b", { egress });
    expect(page.bytes.toString()).toBe("from the proxy");
    expect(proxy.heads[0]).toContain("\r\nHost: only.test\r\n");
    expect(proxy.heads[0]).toContain(`\r\nProxy-Authorization: Basic ${btoa("me:secret")}\r\n`);
  });

  test.each(["http", "socks5h"])("by %s, the rest goes as through any other", async (scheme) => {
    await using site = await startSite({ "/": redirect("/x"), "/x": reply("hello") });
    await using further = await openProxies([site.port]);
    const port = scheme === "http" ? further.proxies.httpPort : further.proxies.socksPort;
    const upstream = parseUpstream({ ALL_PROXY: `${scheme}://127.0.0.1:${port}` });
    const allow = [`origin.test:${site.port}`];
    const egress = egressTo([], { allow, resolver: blind, ...(upstream && { upstream }) });
    const page = await fetched(`http://origin.test:${site.port}/`, { egress });
    expect(page.bytes.toString()).toBe("hello");
    expect(site.heads.join("")).not.toMatch(/proxy/i);
    expect(further.requests).toMatchObject([{ host: "origin.test" }, { host: "origin.test" }]);
  });

  test("https goes through a tunnel, and is trusted no more than without", async () => {
    await using site = await startSecureSite(makeCertificate(["origin.test"]));
    await using further = await openProxies([site.port]);
    const upstream = parseUpstream({ ALL_PROXY: `http://127.0.0.1:${further.proxies.httpPort}` });
    const allow = [`origin.test:${site.port}`];
    const egress = egressTo([], { allow, resolver: blind, ...(upstream && { upstream }) });
    const failure = await whyNot(`https://origin.test:${site.port}/`, { egress });
    expect(failure.message).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
    expect(further.requests).toMatchObject([{ host: "origin.test", verdict: "allowed" }]);
  });

  test("the rules come first", async () => {
    await using proxy = await startSite((path) => reply(`secret of ${path}`));
    const upstream = parseUpstream({ ALL_PROXY: `http://127.0.0.1:${proxy.port}` });
    const egress = egressTo([], { mode: "open", resolver: async () => ["10.0.0.1"], ...(upstream && { upstream }) });
    for (const url of ["http://10.0.0.1/", "http://private.example.com/", "https://metadata.google.internal/"]) {
      expect(await whyNot(url, { egress })).toMatchObject({ denied: true });
    }
    expect(proxy.heads).toEqual([]);
  });

  test("one that wants other credentials is told apart from the site", async () => {
    await using proxy = await startSite(() => reply("who?", { status: "407 Proxy Authentication Required" }));
    const upstream = parseUpstream({ ALL_PROXY: `http://127.0.0.1:${proxy.port}` });
    const egress = egressTo([], { allow: ["only.test"], resolver: blind, ...(upstream && { upstream }) });
    for (const url of ["http://only.test/", "https://only.test/"]) {
      expect((await whyNot(url, { egress })).message).toContain("wants other credentials (it answered 407)");
    }
  });
});
