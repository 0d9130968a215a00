import type { Config } from "../lib/config/config.ts";
import { findDataDirectory } from "../lib/config/paths.ts";
import { counted } from "../lib/counted.ts";
import { readRefusals } from "../lib/egress/refusals/read.ts";
import type { EgressRefusal } from "../lib/egress/refusals/log.ts";
import { proxyName, parseUpstream, type Upstream, type UpstreamProxy } from "../lib/egress/route/upstream.ts";
import { parseRules } from "../lib/egress/rules/rules.ts";
import { KodaError } from "../lib/errors.ts";
import { plain } from "../lib/sink/style.ts";
import type { CurrentProject } from "./project.ts";

/** The hosts that commands may reach, and the route. Throws for an invalid pattern or proxy, which would end a run. */
export function checkEgress({ egress }: Pick<Config, "egress">, { env }: Pick<CurrentProject, "env">) {
  const [rules] = parseRules(egress);
  const route = describeRoute(parseUpstream(env));
  const allowed = `${counted(rules.allow.length, "pattern")} allowed`;
  const denied = rules.deny.length === 0 ? "" : `, ${rules.deny.length} denied`;
  const reach = {
    none: "none: commands reach nothing",
    allowlist: `allowlist: ${allowed}${denied}, ${route}`,
    open: `open: every public host, ${allowed} in addition${denied}, ${route}`,
  } as const;
  return { status: "ok", message: reach[egress.mode] } as const;
}

/** The latest refusals of all runs; none when there is no data directory. */
export function latestRefusals(project: CurrentProject): readonly EgressRefusal[] {
  try {
    const directory = findDataDirectory(project);
    return directory === undefined ? [] : readRefusals(directory);
  } catch (error) {
    // The database check reports the problem.
    if (error instanceof KodaError) return [];
    throw error;
  }
}

const mostShown = 5;

/** The last few refusals, below the checks. */
export function describeRefusals(refusals: readonly EgressRefusal[]): string {
  const shown = refusals.slice(-mostShown).map(({ at, reason }) => `  ${plain(at)} ${plain(reason)}\n`);
  return shown.length === 0 ? "" : `\nRecently refused (--json shows more):\n${shown.join("")}`;
}

function describeRoute(upstream: Upstream | undefined): string {
  const { request, tunnel } = upstream ?? {};
  if (request === undefined && tunnel === undefined) return "direct";
  if (request !== undefined && tunnel !== undefined && urlOf(request) === urlOf(tunnel))
    return `through ${urlOf(request)}`;
  return `HTTP ${through(request)}, everything else ${through(tunnel)}`;
}

function through(proxy: UpstreamProxy | undefined): string {
  return proxy === undefined ? "direct" : `through ${urlOf(proxy)}`;
}

/** Without credentials. */
function urlOf(proxy: UpstreamProxy): string {
  return `${proxy.protocol}://${proxyName(proxy)}`;
}
