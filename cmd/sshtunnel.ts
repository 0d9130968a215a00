import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { authorityOf } from "../lib/egress/rules/authority.ts";
import { parseAuthority, parseHost, parsePort } from "../lib/egress/rules/host.ts";
import { sshTunnelName } from "../lib/egress/env.ts";
import { openTunnel, type TunnelRequest } from "../lib/egress/tunnel.ts";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";

/**
 * `koda ssh-tunnel --proxy HOST:PORT HOST PORT`: ssh starts it, once for each connection, to get through the SOCKS
 * proxy. No page of the help names it: only a command's variables call it.
 */
export async function sshTunnel(argv: readonly string[]): Promise<number> {
  const request = parseOptions(argv);
  const tunnel = await openTunnel(request);
  if ("reason" in tunnel) return await refuse(tunnel.reason);
  try {
    // "close" follows the end of both sides; `once` fails when the connection breaks while nothing is read or written.
    await Promise.all([send(tunnel), receive(tunnel), once(tunnel, "close")]);
    return 0;
  } catch (error) {
    tunnel.resetAndDestroy();
    if (error instanceof ReaderGone) return 1;
    return await refuse(
      `the connection to ${authorityOf(request.target)} was lost (${errnoOf(error) ?? messageOf(error)})`,
    );
  }
}

function parseOptions(argv: readonly string[]): TunnelRequest {
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

/** The end of our input ends only that direction: the target may still send. */
async function send(tunnel: Socket): Promise<void> {
  for await (const chunk of Bun.stdin.stream()) {
    if (!tunnel.write(chunk)) await once(tunnel, "drain");
  }
  tunnel.end();
}

/** ssh closed our output, which is no error. */
class ReaderGone extends Error {}

async function receive(tunnel: Socket): Promise<void> {
  const output = Bun.stdout.writer();
  for await (const chunk of tunnel.iterator({ destroyOnReturn: false })) {
    try {
      await output.write(chunk);
      await output.flush();
    } catch (error) {
      throw new ReaderGone("output closed", { cause: error });
    }
  }
  await output.end();
  // The writer leaves standard output open, and ssh would wait for the end of it.
  closeSync(1);
}
