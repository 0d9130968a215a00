import type { Socket } from "node:net";
import type { HostPort, NetworkHost } from "../rules/host.ts";
import {
  addressLengths,
  connectCommand,
  methods,
  nameType,
  type Parsed,
  readMessage,
  socksVersion,
} from "./message.ts";

type SocksCredentials = { user: string; password: string };

/** The message goes on after the name of the proxy. `code` is that of its reply to the request, if there was one. */
export class SocksRefusal extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

/** The replies of RFC 1928 in words. */
export const socksReplies: Readonly<Record<number, string>> = {
  1: "general failure",
  2: "not allowed by its rules",
  3: "network unreachable",
  4: "host unreachable or unknown",
  5: "connection refused",
  6: "TTL expired",
  7: "command not supported",
  8: "address type not supported",
};

/** Has the proxy at the other end of a connection connect it to a target, whose name the proxy looks up. */
export async function connectThrough(socket: Socket, target: HostPort, credentials?: SocksCredentials): Promise<void> {
  await authenticate(socket, credentials);
  socket.write(requestFor(target));
  const [version, code] = await readMessage(socket, parseReply);
  if (version !== socksVersion) throw new SocksRefusal("does not speak SOCKS5");
  if (code !== 0) throw new SocksRefusal(`refused (${socksReplies[code] ?? `SOCKS5 reply ${code}`})`, code);
}

async function authenticate(socket: Socket, credentials: SocksCredentials | undefined): Promise<void> {
  const offered = credentials === undefined ? [methods.none] : [methods.none, methods.password];
  socket.write(Buffer.of(socksVersion, offered.length, ...offered));
  const [version, method] = await readMessage(socket, parsePair);
  if (version === socksVersion && method === methods.none) return;
  if (version !== socksVersion || method !== methods.password || credentials === undefined)
    throw new SocksRefusal(`does not speak SOCKS5 ${credentials ? "with" : "without"} credentials`);
  socket.write(Buffer.concat([Buffer.of(1), prefixed(credentials.user), prefixed(credentials.password)]));
  const [, status] = await readMessage(socket, parsePair);
  if (status !== 0) throw new SocksRefusal("wants other credentials");
}

function parsePair(bytes: Buffer): Parsed<readonly [version: number, answer: number]> {
  const [first, second] = bytes;
  return first === undefined || second === undefined ? undefined : { value: [first, second], length: 2 };
}

function requestFor({ host, port }: HostPort): Buffer {
  const end = Buffer.of(port >> 8, port & 0xff);
  return Buffer.concat([Buffer.of(socksVersion, connectCommand, 0), addressOf(host), end]);
}

function addressOf(host: NetworkHost): Buffer {
  if (host.kind === "name") return Buffer.concat([Buffer.of(nameType), prefixed(host.text)]);
  return Buffer.concat([Buffer.of(host.address.length === 4 ? 1 : 4), host.address]);
}

/** A text after its length, which has to fit into a byte. */
function prefixed(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 0xff) throw new SocksRefusal("does not take credentials of more than 255 bytes");
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

/** A success is read to its end, since the target's bytes follow it; of a refusal the code is enough. */
function parseReply(bytes: Buffer): Parsed<readonly [version: number, code: number]> {
  const [version, code, , type, nameLength] = bytes;
  if (version === undefined || code === undefined) return undefined;
  if (version !== socksVersion || code !== 0) return { value: [version, code], length: bytes.length };
  if (type === undefined || nameLength === undefined) return undefined;
  const length = 6 + (type === nameType ? 1 + nameLength : (addressLengths[type] ?? 0));
  return bytes.length < length ? undefined : { value: [version, code], length };
}
