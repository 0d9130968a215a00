import { createServer, type Server, type Socket } from "node:net";
import type { RouteFailure } from "../route/route.ts";
import { farewell } from "./farewell.ts";
import type { Gateway } from "./gateway.ts";
import { readGreeting, readRequest, type Parsed } from "./handshake.ts";
import { reach } from "./reach.ts";
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

const [withoutCredentials, noMethod] = [0x00, 0xff] as const;

/** The SOCKS5 proxy: CONNECT without credentials, to a name or an address. */
export function createSocksProxy(gateway: Gateway): Server {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    // "close" follows every error, and is what the flows listen to.
    client.on("error", () => {});
    // What goes wrong with one connection ends that connection, and not the session.
    serve(client, gateway).catch(() => client.destroy());
  });
  server.maxConnections = gateway.limits.clients;
  return server;
}

async function serve(client: Socket, gateway: Gateway): Promise<void> {
  const late = setTimeout(() => client.destroy(), gateway.limits.headMs);
  const request = await shakeHands(client);
  clearTimeout(late);
  if (request === undefined) return;
  switch (request.kind) {
    case "connect":
      break;
    case "fault":
      return farewell(client, reply(replies.broken));
    case "other command":
      return farewell(client, reply(otherCommand));
    case "other address":
      return farewell(client, reply(otherAddress));
    default:
      return request satisfies never;
  }

  const stop = () => client.resetAndDestroy();
  const reached = await reach({ target: request.target, via: "socks", traffic: "tunnel", client, stop }, gateway);
  if ("kind" in reached) return farewell(client, reply(replies[reached.kind]));
  client.write(reply(succeeded));
  relay(client, reached.socket, () => gateway.flows.end(reached.flow));
}

/** Undefined when there is nobody to go on with. */
async function shakeHands(client: Socket) {
  const greeting = await readUntil(client, readGreeting);
  if (greeting === undefined) return undefined;
  if (!greeting.isSocks5) {
    client.destroy();
    return undefined;
  }
  if (!greeting.methods.includes(withoutCredentials)) {
    farewell(client, Uint8Array.of(5, noMethod));
    return undefined;
  }
  client.write(Uint8Array.of(5, withoutCredentials));
  return await readUntil(client, readRequest);
}

/** Where we are is not the client's business: the address in a reply is empty. */
function reply(code: number): Uint8Array {
  return Uint8Array.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0);
}

/** Reads until it is enough, however it arrives; what comes after stays to be read. Undefined when the client ends before. */
function readUntil<T>(client: Socket, read: (bytes: Buffer) => Parsed<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = (value: T | undefined) => {
      client.off("data", take).off("end", leave).off("close", leave);
      client.pause();
      resolve(value);
    };
    const leave = () => {
      done(undefined);
      client.destroy();
    };
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const said = read(bytes);
      if (said === undefined) return;
      done(said.value);
      const rest = bytes.subarray(said.length);
      if (rest.length > 0) client.unshift(rest);
    };
    client.on("data", take).on("end", leave).on("close", leave);
    client.resume();
  });
}
