import type { Socket } from "node:net";
import { errnoOf, messageOf } from "../errors.ts";
import { authorityOf } from "./authority.ts";
import { chain, connectTo, UpstreamFailure } from "./chain.ts";
import { dial } from "./dial.ts";
import type { Flow } from "./flows.ts";
import type { Gateway } from "./gateway.ts";
import { quoted, type Target } from "./host.ts";
import { resolveChecked } from "./resolve.ts";
import { proxyFor, type UpstreamProxy } from "./upstream.ts";

export type Wish = {
  target: Target;
  via: "http" | "socks";
  /** Bytes of which we know nothing, or one request that we pass on ourselves. */
  wire: "tunnel" | "request";
  client: Socket;
  /** What to do when the flow has to end before its time. */
  stop: (why: string) => void;
};

/** `proxy`: the connection leads to an HTTP proxy, which wants the request in absolute form. */
export type Reached = { socket: Socket; flow: Flow; proxy: UpstreamProxy | undefined };

/** Why nobody was reached; both proxies have their own number for each. */
export type Failure = {
  kind: "rule" | "full" | "name" | "late" | "refused" | "unreachable" | "no network" | "broken" | "upstream";
  /** One line of ASCII. */
  reason: string;
};

/** The only way out: the rules first, then the connection, and everything that came of it is told. */
export async function reach(wish: Wish, gateway: Gateway): Promise<Reached | Failure> {
  const { target, via } = wish;
  const outcome = await attempt(wish, gateway);
  const asked = { via, host: target.host.text, port: target.port };
  if (!("kind" in outcome)) gateway.onRequest({ ...asked, verdict: "allowed" });
  else gateway.onRequest({ ...asked, verdict: outcome.kind === "rule" ? "refused" : "failed", reason: outcome.reason });
  return outcome;
}

async function attempt(wish: Wish, gateway: Gateway): Promise<Reached | Failure> {
  const flow = gateway.flows.start(wish.client, wish.stop);
  if (flow === undefined) {
    return { kind: "full", reason: `${gateway.limits.flows} connections are open already; close some and try again` };
  }
  const outcome = await connection(wish, gateway);
  if ("kind" in outcome) {
    gateway.flows.end(flow);
    return outcome;
  }
  flow.sockets.push(outcome.socket);
  return { ...outcome, flow };
}

async function connection(wish: Wish, gateway: Gateway): Promise<Omit<Reached, "flow"> | Failure> {
  const { target, client } = wish;
  const gone = new AbortController();
  const leave = () => gone.abort();
  client.once("close", leave);
  const late = AbortSignal.timeout(gateway.limits.connectMs);
  try {
    const signal = AbortSignal.any([gone.signal, late]);
    if (client.destroyed) leave();
    const outcome = await route(wish, gateway, signal);
    if (!("kind" in outcome) && client.destroyed) outcome.socket.destroy();
    return outcome;
  } catch (error) {
    if (gone.signal.aborted)
      return { kind: "broken", reason: `the client left before ${authorityOf(target)} answered` };
    if (late.aborted) {
      return {
        kind: "late",
        reason: `${authorityOf(target)} did not answer within ${gateway.limits.connectMs / 1000} s`,
      };
    }
    return failureOf(error, target);
  } finally {
    client.off("close", leave);
  }
}

async function route(
  { target, wire }: Wish,
  { rules, resolver, upstream }: Gateway,
  signal: AbortSignal,
): Promise<Omit<Reached, "flow"> | Failure> {
  const proxy = proxyFor(target, upstream, wire);
  const checked = await resolveChecked(target, rules, { ...(resolver && { resolver }), signal });
  if ("refused" in checked) {
    if (checked.kind === "rule") return { kind: "rule", reason: checked.refused };
    // Behind a proxy of the user's own, names of the world need not be known here: the proxy looks them up.
    if (proxy === undefined) return { kind: checked.kind === "dns" ? "name" : "late", reason: checked.refused };
  }
  if (proxy === undefined) {
    const addresses = "addresses" in checked ? checked.addresses : [];
    return { socket: await dial({ addresses, port: target.port }, signal), proxy: undefined };
  }
  if (wire === "request" && proxy.protocol !== "socks5") return { socket: await connectTo(proxy, signal), proxy };
  return { socket: await chain(target, proxy, signal), proxy: undefined };
}

const kinds: Readonly<Record<string, Failure["kind"]>> = {
  ECONNREFUSED: "refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "no network",
  EADDRNOTAVAIL: "no network",
  ETIMEDOUT: "late",
};

function failureOf(error: unknown, target: Target): Failure {
  if (error instanceof UpstreamFailure) return { kind: "upstream", reason: error.message };
  const errno = errnoOf(error);
  const reason = `${authorityOf(target)} cannot be reached (${errno ?? quoted(messageOf(error))})`;
  return { kind: kinds[errno ?? ""] ?? "broken", reason };
}
