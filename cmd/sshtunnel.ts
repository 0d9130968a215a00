import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { authorityOf } from "../lib/egress/rules/authority.ts";
import { parseAuthority, parseHost, parsePort } from "../lib/egress/rules/host.ts";
import { sshTunnelName } from "../lib/egress/env.ts";
import { openTunnel, type TunnelWish } from "../lib/egress/tunnel.ts";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";

/**
 * `koda ssh-tunnel --proxy HOST:PORT HOST PORT`: ssh starts it, once for each connection, to get through the SOCKS
 * proxy. It is on no page: a command's variables call it, and nobody else needs to.
 */
export async function sshTunnel(argv: readonly string[]): Promise<number> {
  const wish = readWish(argv);
  const tunnel = await openTunnel(wish);
  if ("reason" in tunnel) return await refuse(tunnel.reason);
  try {
    // It closes when both sides have said their end, and fails here when it breaks while nobody reads or writes.
    await Promise.all([send(tunnel), receive(tunnel), once(tunnel, "close")]);
    return 0;
  } catch (error) {
    tunnel.resetAndDestroy();
    if (error instanceof ReaderGone) return 1;
    return await refuse(`${authorityOf(wish.target)} broke off (${errnoOf(error) ?? messageOf(error)})`);
  }
}

function readWish(argv: readonly string[]): TunnelWish {
  const [flag, proxyText = "", hostText = "", portText = ""] = argv;
  if (flag !== "--proxy" || argv.length !== 4) throw usage(`usage: ${sshTunnelName} --proxy HOST:PORT HOST PORT`);
  const proxy = parseAuthority(proxyText);
  if ("fault" in proxy) throw usage(proxy.fault);
  const host = parseHost(hostText);
  if ("fault" in host) throw usage(host.fault);
  const port = parsePort(portText);
  if (port === undefined) throw usage(`"${portText}" is not a port: expected a number from 1 to 65535`);
  return { proxy, target: { host, port } };
}

function usage(complaint: string): KodaError {
  return new KodaError("usage", `${sshTunnelName}: ${complaint}`);
}

async function refuse(reason: string): Promise<number> {
  await Bun.write(Bun.stderr, `egress: ${reason}\n`);
  return 1;
}

/** The end of our input is an end for the target alone, which may still have something to say. */
async function send(tunnel: Socket): Promise<void> {
  for await (const chunk of Bun.stdin.stream()) {
    if (!tunnel.write(chunk)) await once(tunnel, "drain");
  }
  tunnel.end();
}

/** ssh has left, and needs no words about it. */
class ReaderGone extends Error {}

async function receive(tunnel: Socket): Promise<void> {
  const output = Bun.stdout.writer();
  for await (const chunk of tunnel.iterator({ destroyOnReturn: false })) {
    try {
      await output.write(chunk);
      await output.flush();
    } catch (error) {
      throw new ReaderGone("nobody reads", { cause: error });
    }
  }
  await output.end();
  // The writer leaves standard output open, and ssh would wait for its end.
  closeSync(1);
}
