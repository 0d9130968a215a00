import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { errnoOf, messageOf } from "../errors.ts";
import { addressLengths, connectCommand, nameType, type Parsed, readMessage, socksVersion } from "./proxy/handshake.ts";
import { authorityOf } from "./rules/authority.ts";
import { quoted, type NetworkHost, type HostPort } from "./rules/host.ts";

/** `proxy` speaks SOCKS5 without credentials, as ours does. */
export type TunnelRequest = { proxy: HostPort; target: HostPort };

/**
 * A connection to the target through the proxy, which looks its name up; the target's first bytes are still unread. Or
 * the reason why there is none, on one line that names the host.
 */
export async function openTunnel({ proxy, target }: TunnelRequest): Promise<Socket | { reason: string }> {
  const socket = connect({ host: proxy.host.text, port: proxy.port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, "connect");
    const refusal = await request(target, socket);
    if (refusal === undefined) return socket;
    socket.destroy();
    return { reason: refusal };
  } catch (error) {
    socket.destroy();
    const why = errnoOf(error) ?? quoted(messageOf(error));
    return { reason: `the proxy ${authorityOf(proxy)} does not answer (${why})` };
  }
}

const withoutCredentials = 0;
const greeting = Buffer.of(socksVersion, 1, withoutCredentials);
const succeeded = 0;

/**
 * Sends greeting and request at once: our proxies have only one answer to the greeting. Returns why the request was
 * refused, if it was.
 */
async function request(target: HostPort, socket: Socket): Promise<string | undefined> {
  socket.write(Buffer.concat([greeting, requestFor(target)]));
  const answer = await readMessage(socket, parseAnswer);
  if (answer === "another protocol") return "the proxy does not speak SOCKS5 without credentials";
  return answer.code === succeeded ? undefined : reasonOf(answer.code, target);
}

function requestFor({ host, port }: HostPort): Buffer {
  return Buffer.concat([
    Buffer.of(socksVersion, connectCommand, 0),
    addressOf(host),
    Buffer.of(port >> 8, port & 0xff),
  ]);
}

function addressOf(host: NetworkHost): Buffer {
  if (host.kind === "name") return Buffer.concat([Buffer.of(nameType, host.text.length), Buffer.from(host.text)]);
  return Buffer.concat([Buffer.of(host.address.length === 4 ? 1 : 4), host.address]);
}

type Answer = { code: number } | "another protocol";

/** The proxy's answers to the greeting and to the request, in one. */
function parseAnswer(bytes: Buffer): Parsed<Answer> {
  const [version, method, , code, , type, nameLength] = bytes;
  if (version === undefined || method === undefined) return undefined;
  if (version !== socksVersion || method !== withoutCredentials)
    return { value: "another protocol", length: bytes.length };
  if (code === undefined) return undefined;
  if (code !== succeeded) return { value: { code }, length: bytes.length };
  if (type === undefined || nameLength === undefined) return undefined;
  const length = 8 + (type === nameType ? 1 + nameLength : (addressLengths[type] ?? 0));
  return bytes.length < length ? undefined : { value: { code }, length };
}

/** SOCKS5 gives only a number; the rule's own reason is in koda's output. */
function reasonOf(code: number, target: HostPort): string {
  const name = authorityOf(target);
  switch (code) {
    case 2:
      return `${name} refused: the rules do not allow it (--allow-net ${name} does, unless --deny-net names it)`;
    case 3:
      return `${name} failed: network unreachable`;
    case 4:
      return `${name} failed: it cannot be resolved, or does not answer`;
    case 5:
      return `${name} failed: connection refused`;
    default:
      return `${name} failed: the proxy could not open a connection (SOCKS5 reply ${code})`;
  }
}
