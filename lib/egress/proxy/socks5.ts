import { createServer, type Server, type Socket } from "node:net";
import { ignoreError } from "../route/dial.ts";
import type { RouteFailure } from "../route/route.ts";
import { methods, readMessage, socksVersion } from "../socks/message.ts";
import { parseGreeting, parseRequest } from "../socks/request.ts";
import { endWith } from "./endwith.ts";
import { openFlow, type Admission, type Gateway } from "./openflow.ts";
import { relay } from "./relay.ts";

const succeeded = 0x00;
const replies = {
  broken: 0x01,
  full: 0x01,
  upstream: 0x01,
  rule: 0x02,
  "no network": 0x03,
  name: 0x04,
  unreachable: 0x04,
  late: 0x04,
  refused: 0x05,
} as const satisfies Record<RouteFailure["kind"], number>;
const otherCommand = 0x07;
const otherAddress = 0x08;

/** The SOCKS5 proxy: CONNECT without credentials, to a name or an address. */
export function createSocksProxy(gateway: Gateway, admits: Admission): Server {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on("error", ignoreError);
    if (!admits(client)) return endWith(client, Uint8Array.of(socksVersion, methods.refused));
    // An error on one connection ends that connection, and not the session.
    serve(client, gateway).catch(() => client.destroy());
  });
  server.maxConnections = gateway.limits.clients;
  return server;
}

async function serve(client: Socket, gateway: Gateway): Promise<void> {
  const request = await shakeHands(client, gateway.limits.headMs);
  switch (request?.kind) {
    case undefined:
      return;
    case "connect":
      break;
    case "fault":
      return endWith(client, reply(replies.broken));
    case "other command":
      return endWith(client, reply(otherCommand));
    case "other address":
      return endWith(client, reply(otherAddress));
    default:
      return request satisfies never;
  }

  const stop = () => client.resetAndDestroy();
  const { target } = request;
  const opened = await openFlow({ target, via: "socks", traffic: "tunnel", client, stop }, gateway);
  if ("kind" in opened) return endWith(client, reply(replies[opened.kind]));
  client.write(reply(succeeded));
  relay(client, opened.socket, () => gateway.flows.end(opened.flow));
}

/** Undefined when the client was sent away. */
async function shakeHands(client: Socket, limitMs: number) {
  const timer = setTimeout(() => client.destroy(), limitMs);
  try {
    const greeting = await readMessage(client, parseGreeting);
    if (greeting.methods.includes(methods.none)) {
      client.write(Uint8Array.of(socksVersion, methods.none));
      return await readMessage(client, parseRequest);
    }
    if (greeting.isSocks5) endWith(client, Uint8Array.of(socksVersion, methods.refused));
    else client.destroy();
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** The address in a reply is empty: the client has no use for it. */
function reply(code: number): Uint8Array {
  return Uint8Array.of(socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0);
}
