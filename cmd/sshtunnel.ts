import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { authorityOf } from "../lib/egress/rules/authority.ts";
import { parseAuthority, parseHost, parsePort } from "../lib/egress/rules/host.ts";
import { sshTunnelName } from "../lib/egress/env.ts";
import { openTunnel, type TunnelWish } from "../lib/egress/tunnel.ts";
import { errnoOf, KodaError, messageOf } from "../lib/errors.ts";

/**
 * `koda ssh-tunnel --proxy HOST:PORT HOST PORT`: ssh starts it for each connection, to get through the SOCKS proxy. It
 * is not in the help, since only the variables of commands refer to it.
 */
export async function sshTunnel(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  const tunnel = await openTunnel(options);
  if ("reason" in tunnel) return await refuse(tunnel.reason);
  try {
    // The socket closes when both sides have ended; `once` rejects when it breaks while neither side is active.
    await Promise.all([send(tunnel), receive(tunnel), once(tunnel, "close")]);
    return 0;
  } catch (error) {
    tunnel.resetAndDestroy();
    if (error instanceof ReaderGone) return 1;
    return await refuse(
      `the connection to ${authorityOf(options.target)} was lost (${errnoOf(error) ?? messageOf(error)})`,
    );
  }
}

function parseOptions(argv: readonly string[]): TunnelWish {
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

function usage(problem: string): KodaError {
  return new KodaError("usage", `${sshTunnelName}: ${problem}`);
}

async function refuse(reason: string): Promise<number> {
  await Bun.write(Bun.stderr, `egress: ${reason}\n`);
  return 1;
}

/** The end of stdin half-closes the tunnel: the target may still answer. */
async function send(tunnel: Socket): Promise<void> {
  for await (const chunk of Bun.stdin.stream()) {
    if (!tunnel.write(chunk)) await once(tunnel, "drain");
  }
  tunnel.end();
}

/** ssh has gone, which is not an error. */
class ReaderGone extends Error {}

async function receive(tunnel: Socket): Promise<void> {
  const output = Bun.stdout.writer();
  for await (const chunk of tunnel.iterator({ destroyOnReturn: false })) {
    try {
      await output.write(chunk);
      await output.flush();
    } catch (error) {
      throw new ReaderGone("stdout is closed", { cause: error });
    }
  }
  await output.end();
  // The writer leaves stdout open, and ssh would wait for its end.
  closeSync(1);
}
