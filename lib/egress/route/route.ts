import type { Socket } from "node:net";
import { errnoOf, messageOf } from "../../errors.ts";
import { authorityOf } from "../rules/authority.ts";
import { quoted, type HostPort } from "../rules/host.ts";
import { resolveChecked } from "../rules/resolve.ts";
import type { WayOut } from "../wayout.ts";
import { chain, connectToProxy, UpstreamFailure } from "./chain.ts";
import { dial } from "./dial.ts";
import { proxyFor, type UpstreamProxy } from "./upstream.ts";

/** A connection's traffic: bytes that are only passed on, or one request that we send ourselves. */
export type RouteTraffic = "tunnel" | "request";

/** `proxy`: the connection leads to an HTTP proxy, which wants the request in absolute form. */
export type Route = { socket: Socket; proxy: UpstreamProxy | undefined };

/** Why a host was not reached; each proxy has its own number for each kind. */
export type RouteFailure = {
  kind: "rule" | "full" | "name" | "late" | "refused" | "unreachable" | "no network" | "broken" | "upstream";
  /** One line of ASCII. */
  reason: string;
};

/**
 * Asks the rules, then connects to an address that they allow. Throws the system's error, which `failureOf` describes,
 * or the signal's reason.
 */
export async function route(
  { target, traffic }: { target: HostPort; traffic: RouteTraffic },
  { rules, resolver, upstream }: WayOut,
  signal: AbortSignal,
): Promise<Route | RouteFailure> {
  const proxy = proxyFor(target, upstream, traffic);
  const checked = await resolveChecked(target, rules, { resolver, signal });
  if ("refused" in checked) {
    if (checked.kind === "rule") return { kind: "rule", reason: checked.refused };
    // Behind a proxy of the user's own, public names may be unknown here: the proxy looks them up.
    if (proxy === undefined) return { kind: checked.kind === "dns" ? "name" : "late", reason: checked.refused };
  }
  if (proxy === undefined) {
    const addresses = "addresses" in checked ? checked.addresses : [];
    return { socket: await dial({ addresses, port: target.port }, signal), proxy: undefined };
  }
  if (traffic === "request" && proxy.protocol !== "socks5")
    return { socket: await connectToProxy(proxy, signal), proxy };
  return { socket: await chain(target, proxy, signal), proxy: undefined };
}

const kinds: Readonly<Record<string, RouteFailure["kind"]>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "no network",
  EADDRNOTAVAIL: "no network",
  ETIMEDOUT: "late",
};

export function failureOf(error: unknown, target: HostPort): RouteFailure {
  if (error instanceof UpstreamFailure) return { kind: "upstream", reason: error.message };
  const errno = errnoOf(error);
  const reason = `${authorityOf(target)} cannot be reached (${errno ?? quoted(messageOf(error))})`;
  return { kind: kinds[errno ?? ""] ?? "broken", reason };
}
