import type { Config } from "../lib/config/config.ts";
import { serverVariables } from "../lib/conversation/servers.ts";
import type { Event } from "../lib/engine/event.ts";
import { providersOf } from "../lib/model/configured.ts";
import { secretVariables } from "../lib/model/headers.ts";
import { describeEgress } from "../lib/sink/egress.ts";

/** The parts that commands with a sandbox and without a model share. */

/** A variable that other programs use too is the user's to pass on, unless it is configured for a provider. */
export function keyVariables({ providers, mcp }: Config, servers = mcp.servers): string[] {
  const rows = providersOf(providers, process.env);
  const ofProviders = rows.filter(({ name, sharedKey }) => !sharedKey || providers.has(name)).flatMap(secretVariables);
  return [...ofProviders, ...serverVariables(servers)];
}

/** Lines about refused connections and notices. */
export function linesOf(event: Event): string[] {
  if (event.type === "egress") return event.verdict === "allowed" ? [] : [`koda: ${describeEgress(event)}`];
  if (event.type !== "notice") return [];
  const weight = { info: "", warn: "warning: ", error: "error: " }[event.level];
  return [`koda: ${weight}${event.message}`];
}
