import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { errnoOf, messageOf } from "../errors.ts";
import { authorityOf } from "./rules/authority.ts";
import { quoted, type HostPort } from "./rules/host.ts";
import { connectThrough, SocksRefusal, socksReplies } from "./socks/client.ts";

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
    await connectThrough(socket, target);
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof SocksRefusal) return { reason: refusalOf(error, target) };
    const why = errnoOf(error) ?? quoted(messageOf(error));
    return { reason: `the proxy ${authorityOf(proxy)} does not answer (${why})` };
  }
}

/** SOCKS5 gives only a number; the rule's own reason is in koda's output. */
function refusalOf({ code, message }: SocksRefusal, target: HostPort): string {
  const name = authorityOf(target);
  if (code === undefined) return `the proxy ${message}`;
  if (code === 2)
    return `${name} refused: the rules do not allow it (--allow-net ${name} does, unless --deny-net names it)`;
  return `${name} failed: ${socksReplies[code] ?? `SOCKS5 reply ${code}`}`;
}
