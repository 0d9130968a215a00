import type { Config } from "../lib/config/config.ts";
import { findDataDirectory } from "../lib/config/paths.ts";
import { counted } from "../lib/counted.ts";
import type { EgressRefusal } from "../lib/egress/refusals/log.ts";
import { readRefusals } from "../lib/egress/refusals/read.ts";
import { parseUpstream, proxyName, type Upstream, type UpstreamProxy } from "../lib/egress/route/upstream.ts";
import { parseRules } from "../lib/egress/rules/rules.ts";
import { KodaError } from "../lib/errors.ts";
import { plain } from "../lib/sink/style.ts";
import type { CurrentProject } from "./project.ts";

/** The doctor's line about hosts and the way to them. Throws for a bad pattern or proxy, which would end a run. */
export function checkEgress({ egress }: Pick<Config, "egress">, { env }: Pick<CurrentProject, "env">) {
  const rules = parseRules(egress);
  const way = describeUpstream(parseUpstream(env));
  const allowed = `${counted(rules.allow.length, "host pattern")} allowed`;
  const denied = rules.deny.length === 0 ? "" : `, ${rules.deny.length} denied`;
  const reach = {
    none: "none: commands have no network",
    allowlist: `allowlist: ${allowed}${denied}, ${way}`,
    open: `open: every public host and ${allowed}${denied}, ${way}`,
  } as const;
  return { status: "ok", message: reach[egress.mode] } as const;
}

/** The latest refusals of all runs; none where there is no directory for them. */
export function latestRefusals(project: CurrentProject): readonly EgressRefusal[] {
  try {
    const directory = findDataDirectory(project);
    return directory === undefined ? [] : readRefusals(directory);
  } catch (error) {
    // The check of the database reports a bad directory.
    if (error instanceof KodaError) return [];
    throw error;
  }
}

const mostShown = 5;

/** For people: the last few, below the checks. */
export function describeRefusals(refusals: readonly EgressRefusal[]): string {
  const shown = refusals.slice(-mostShown).map(({ at, reason }) => `  ${plain(at)} ${plain(reason)}\n`);
  return shown.length === 0 ? "" : `\nRecently refused (--json shows more):\n${shown.join("")}`;
}

function describeUpstream(upstream: Upstream | undefined): string {
  const { request, tunnel } = upstream ?? {};
  if (request === undefined && tunnel === undefined) return "no upstream proxy";
  if (request !== undefined && tunnel !== undefined && urlOf(request) === urlOf(tunnel))
    return `through ${urlOf(request)}`;
  return `HTTP ${describeProxy(request)}, all else ${describeProxy(tunnel)}`;
}

function describeProxy(proxy: UpstreamProxy | undefined): string {
  return proxy === undefined ? "without a proxy" : `through ${urlOf(proxy)}`;
}

/** Without the credentials. */
function urlOf(proxy: UpstreamProxy): string {
  return `${proxy.protocol}://${proxyName(proxy)}`;
}
