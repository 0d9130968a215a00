import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { ownerOfSocket } from "../../lib/system/socketowner.ts";
import { parseIpAddress } from "../../lib/egress/rules/address.ts";
import { portOf } from "../support/egress.ts";

const endOf = (text: string | undefined, port: number | undefined) => ({
  address: parseIpAddress(text ?? "") ?? new Uint8Array(),
  port: port ?? 0,
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "::1"],
  // As Java connects: with a socket for IPv6, to an address of IPv4.
  ["127.0.0.1", "::ffff:127.0.0.1"],
])("at %s finds the user of a client that connected to %s, while a process has it", async (host, address) => {
  const server = createServer({ allowHalfOpen: true }).listen(0, host);
  await once(server, "listening");
  const client = connect(portOf(server), address);
  const [accepted] = (await once(server, "connection")) as [Socket];
  const own = endOf(accepted.remoteAddress, accepted.remotePort);
  const other = endOf(accepted.localAddress, accepted.localPort);
  expect(ownerOfSocket(own, other)).toBe(process.geteuid?.() ?? -1);
  // The other way round it is the server's end, and at another port there is nobody; a listener is nobody's end.
  expect(ownerOfSocket(other, own)).toBe(process.geteuid?.() ?? -1);
  expect(ownerOfSocket({ ...own, port: 1 }, other)).toBeUndefined();
  expect(ownerOfSocket(other, { ...own, port: 1 })).toBeUndefined();

  // A closed socket would count as root's.
  client.destroy();
  accepted.resume();
  await once(accepted, "end");
  expect(ownerOfSocket(own, other)).toBeUndefined();
  accepted.destroy();
  server.close();
});
