import { expect, test } from "bun:test";
import { connect } from "node:net";
import { callerAddress, callerAt } from "../../lib/egress/caller.ts";
import { openProxies, readReply, startOrigin, echo, ways } from "../support/egress.ts";

const last = 247 * 65_536 - 1;

test.each([
  [0, "127.8.0.0"],
  [1, "127.8.0.1"],
  [256, "127.8.1.0"],
  [65_535, "127.8.255.255"],
  [65_536, "127.9.0.0"],
  [last, "127.254.255.255"],
])("caller %i has %s", (caller, address) => {
  expect(callerAddress(caller)).toBe(address);
  expect(callerAt(address)).toBe(caller);
});

test("beyond the last address callers share the proxies' own", () => {
  expect(callerAddress(last + 1)).toBe("127.0.0.1");
});

test.each([undefined, "127.0.0.1", "127.7.255.255", "127.255.0.0", "128.8.0.1", "10.127.8.0", "::1", "localhost"])(
  "%p is no caller's address",
  (address) => expect(callerAt(address)).toBeUndefined(),
);

test.each(ways)("a request by $name tells its caller by either end of the connection", async (way) => {
  await using origin = await startOrigin(echo);
  await using opened = await openProxies([origin.port]);
  const caller = { host: callerAddress(5), port: 0 };
  const further = await opened.proxies.listen({ http: caller, socks: caller });
  const own = { httpPort: further.http, socksPort: further.socks };
  const dials = [
    { host: caller.host, port: way.port(own) },
    { host: "127.0.0.1", localAddress: callerAddress(6), port: way.port(opened.proxies) },
    { host: "127.0.0.1", port: way.port(opened.proxies) },
  ];
  for (const dial of dials) {
    const socket = connect(dial);
    for (const part of way.hello("origin.test", origin.port)) socket.write(part);
    expect(way.isYes(await readReply(way, socket))).toBe(true);
    socket.destroy();
  }
  expect(opened.requests.map(({ caller }) => caller)).toEqual([5, 6, undefined]);
  expect(opened.requests[2]).not.toHaveProperty("caller");
});
