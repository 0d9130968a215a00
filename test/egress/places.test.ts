import { ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { EgressProxies } from "../../lib/egress/proxy/proxy.ts";
import { parseRules } from "../../lib/egress/rules/rules.ts";
import { KodaError } from "../../lib/errors.ts";
import { openLibrary } from "../../lib/system/clibrary.ts";
import { ask, connectWay, echo, openProxies, readAll, socksWay, startOrigin } from "../support/egress.ts";

const loopback = { host: "127.0.0.1", port: 0 };

/** What a sandbox hands over: a socket that listens on a port of loopback, as its number. */
function listeningSocket(): number {
  const libc = openLibrary({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    listen: { args: ["i32", "i32"], returns: "i32" },
  });
  const [inet, stream, closeOnExec] = [2, 1, 0o2000000];
  const address = Buffer.from([inet, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const fd = libc?.socket(inet, stream | closeOnExec, 0) ?? -1;
  expect(libc?.bind(fd, ptr(address), address.length)).toBe(0);
  expect(libc?.listen(fd, 64)).toBe(0);
  return fd;
}

test.skipIf(process.platform !== "linux")("the proxies listen on sockets that were handed to them", async () => {
  await using origin = await startOrigin(echo);
  const hosts = [`origin.test:${origin.port}`, `127.0.0.1:${origin.port}`];
  await using proxies = new EgressProxies({
    rules: parseRules({ mode: "allowlist", allow: hosts, deny: [] }),
    resolver: async () => ["127.0.0.1"],
    onRequest() {},
  });
  const { http, socks } = await proxies.listen({ http: { fd: listeningSocket() }, socks: { fd: listeningSocket() } });
  for (const way of [connectWay, socksWay]) {
    const { said, socket } = await ask(way, { httpPort: http, socksPort: socks }, origin.port);
    expect(way.isYes(said)).toBe(true);
    socket.end("hello");
    expect((await readAll(socket)).toString()).toBe("hello");
  }
});

test("the proxies listen in a second place too, and the limits are for both", async () => {
  await using origin = await startOrigin(echo);
  await using opened = await openProxies([origin.port], { limits: { flows: 1 } });
  const { http, socks } = await opened.proxies.listen({ http: loopback, socks: loopback });
  const further = { httpPort: http, socksPort: socks };
  expect(connectWay.isYes((await ask(connectWay, opened.proxies, origin.port)).said)).toBe(true);
  for (const way of [connectWay, socksWay]) expect(way.isYes((await ask(way, further, origin.port)).said)).toBe(false);
});

test("a port that is taken is an error that names it, and leaves nothing open", async () => {
  await using taken = await startOrigin(echo);
  await using proxies = new EgressProxies({ rules: parseRules({ mode: "none", allow: [], deny: [] }), onRequest() {} });
  const opening = proxies.listen({ http: loopback, socks: { host: "127.0.0.1", port: taken.port } });
  expect(opening).rejects.toThrow(KodaError);
  expect(opening).rejects.toThrow(`127.0.0.1:${taken.port}`);
  await opening.catch(() => undefined);
});
