import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { errnoOf, messageOf } from "../errors.ts";
import { addressLengths, connectCommand, nameType, socksVersion } from "./proxy/handshake.ts";
import { authorityOf } from "./rules/authority.ts";
import { quoted, type Host, type HostPort } from "./rules/host.ts";

/** `proxy` speaks SOCKS5 and wants no credentials, as ours does. */
export type TunnelWish = { proxy: HostPort; target: HostPort };

/** Why there is no tunnel: one line that names the host. */
export type NoTunnel = { reason: string };

/** A connection to the target through the proxy, which looks its name up; what the target says is yet to be read. */
export async function openTunnel(wish: TunnelWish): Promise<Socket | NoTunnel> {
  const socket = connect({ host: wish.proxy.host.text, port: wish.proxy.port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, "connect");
    const refusal = await askFor(wish.target, socket);
    if (refusal === undefined) return socket;
    socket.destroy();
    return { reason: refusal };
  } catch (error) {
    socket.destroy();
    const why = errnoOf(error) ?? quoted(messageOf(error));
    return { reason: `the proxy ${authorityOf(wish.proxy)} does not answer (${why})` };
  }
}

const withoutCredentials = 0;
const greeting = Buffer.of(socksVersion, 1, withoutCredentials);
const succeeded = 0;

/** Everything the client says goes out at once: our proxies have but one answer to the greeting. Undefined is a yes. */
async function askFor(target: HostPort, socket: Socket): Promise<string | undefined> {
  socket.write(Buffer.concat([greeting, requestFor(target)]));
  const answer = await readAnswer(socket);
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

function addressOf(host: Host): Buffer {
  if (host.kind === "name") return Buffer.concat([Buffer.of(nameType, host.text.length), Buffer.from(host.text)]);
  return Buffer.concat([Buffer.of(host.address.length === 4 ? 1 : 4), host.address]);
}

/** Reads until it is enough; what comes after belongs to the tunnel. */
function readAnswer(socket: Socket): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let bytes: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const said = parseAnswer(bytes);
    if (said === undefined) return;
    socket.off("data", take).off("end", leave).off("error", reject).pause();
    if (bytes.length > said.length) socket.unshift(bytes.subarray(said.length));
    resolve(said.answer);
  };
  const leave = () => reject(new Error("it closed the connection"));
  socket.on("data", take).once("end", leave).once("error", reject);
  return promise;
}

type Answer = { code: number } | "another protocol";

/** What a proxy says to the greeting and to the request, in one; undefined while there is not enough of it. */
function parseAnswer(bytes: Buffer): { answer: Answer; length: number } | undefined {
  const [spoken, method, , code, , type, nameLength] = bytes;
  if (spoken === undefined || method === undefined) return undefined;
  if (spoken !== socksVersion || method !== withoutCredentials)
    return { answer: "another protocol", length: bytes.length };
  if (code === undefined) return undefined;
  if (code !== succeeded) return { answer: { code }, length: bytes.length };
  if (type === undefined || nameLength === undefined) return undefined;
  const length = 8 + (type === nameType ? 1 + nameLength : (addressLengths[type] ?? 0));
  return bytes.length < length ? undefined : { answer: { code }, length };
}

/** SOCKS5 gives a number; the words of the rules are with koda, which tells them too. */
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
