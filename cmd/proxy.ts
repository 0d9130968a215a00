import { once } from "node:events";
import { loadConfig } from "../lib/config/load.ts";
import { proxyVariables, type ProxyAddress } from "../lib/egress/env.ts";
import { EgressProxies } from "../lib/egress/proxy/proxy.ts";
import { parseUpstream } from "../lib/egress/route/upstream.ts";
import { bracketed } from "../lib/egress/rules/address.ts";
import { parseRules } from "../lib/egress/rules/rules.ts";
import type { EgressRequest } from "../lib/egress/wayout.ts";
import { exitByCode, KodaError } from "../lib/errors.ts";
import { shellQuoted } from "../lib/quote.ts";
import { OutputStream } from "../lib/sink/output.ts";
import { visibleLine } from "../lib/visible.ts";
import { egressOverrides } from "./basesettings.ts";
import { currentProject } from "./project.ts";
import type { CommandOptions } from "./options.ts";
import { print } from "./print.ts";
import type { Stopper } from "./signals.ts";

const anyPort: ProxyAddress = { host: "127.0.0.1", port: 0 };

/** `koda proxy`: runs the two egress proxies until a signal ends them. */
export async function proxy(options: CommandOptions<"proxy">, { controller: { signal } }: Stopper): Promise<number> {
  const { listen = anyPort, socksListen = anyPort, json } = options;
  const project = { ...currentProject(options), bare: false, sets: [] };
  const { config } = await loadConfig({ ...project, overrides: egressOverrides(options) });
  const stderr = new OutputStream(2, "stderr");
  // An unread log is no reason to stop the traffic.
  const unread = () => {};

  await using proxies = new EgressProxies({
    rules: parseRules(config.egress),
    upstream: parseUpstream(project.env),
    onRequest: (request) => void stderr.write(`${visibleLine(describe(request))}\n`).catch(unread),
  });
  const ports = await proxies.listen({ http: listen, socks: socksListen });
  const [http, socks] = [reachable(listen, ports.http), reachable(socksListen, ports.socks)];
  const env = proxyVariables({ http, socks });
  await print(
    json
      ? `${JSON.stringify({ http_port: http.port, socks_port: socks.port, env })}\n`
      : Object.entries(env).map(exportLine).join(""),
  );
  if (!signal.aborted) await once(signal, "abort");
  await stderr.flush().catch(unread);
  return signal.reason instanceof KodaError && signal.reason.code === "sighup" ? exitByCode.sighup : 0;
}

function describe({ via, host, port, ...rest }: EgressRequest): string {
  const line = `${rest.verdict} ${via} ${bracketed(host)}:${port}`;
  return rest.verdict === "allowed" ? line : `${line}: ${rest.reason}`;
}

/** A proxy that listens everywhere is reached at the loopback address. */
function reachable({ host }: ProxyAddress, port: number): ProxyAddress {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  return { host: isEverywhere ? anyPort.host : host, port };
}

function exportLine([name, value]: [string, string]): string {
  return `export ${name}=${shellQuoted(value)}\n`;
}
