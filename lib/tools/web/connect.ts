import { isIP, type Socket } from "node:net";
import { unlessAborted } from "../../async/unlessaborted.ts";
import { permitted } from "../../egress/permission.ts";
import { failureOf, route, type RouteFailure, type Route, type RouteTraffic } from "../../egress/route/route.ts";
import { type HostPort, quoted } from "../../egress/rules/host.ts";
import type { WayOut } from "../../egress/wayout.ts";
import { errnoOf, messageOf } from "../../errors.ts";
import { FetchFailure } from "./failure.ts";
import { hostOf, type WebUrl } from "./url.ts";

type Connecting = {
  signal: AbortSignal;
  /** Plain HTTP as well passes a proxy of the user's own as a tunnel. */
  tunnel?: boolean;
};

/** Opens a connection for a URL if the rules allow it; the attempt is reported either way. */
export async function connectForUrl(
  url: WebUrl,
  egress: WayOut,
  { signal, tunnel = false }: Connecting,
): Promise<Route> {
  const traffic = url.scheme === "http" && !tunnel ? "request" : "tunnel";
  const outcome = await attempt({ target: url.target, traffic }, egress, signal);
  const asked = { via: "fetch", host: url.target.host.text, port: url.target.port } as const;
  if (!("kind" in outcome)) {
    egress.onRequest({ ...asked, verdict: "allowed" });
    return url.scheme === "http" ? outcome : { ...outcome, socket: await secured(outcome.socket, url, signal) };
  }
  const denied = outcome.kind === "rule";
  egress.onRequest({ ...asked, verdict: denied ? "refused" : "failed", reason: outcome.reason });
  throw new FetchFailure(outcome.reason, { denied });
}

async function attempt(
  wanted: { target: HostPort; traffic: RouteTraffic },
  egress: WayOut,
  signal: AbortSignal,
): Promise<Route | RouteFailure> {
  try {
    const way = await permitted({ target: wanted.target }, egress, signal);
    return "reason" in way ? { kind: "rule", reason: way.reason } : await route(wanted, way, signal);
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(error, wanted.target);
  }
}

/** TLS on a connection, with the host that the URL names and no one else. */
async function secured(socket: Socket, url: WebUrl, signal: AbortSignal): Promise<Socket> {
  const { connect } = await import("node:tls");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const name = url.target.host.text;
  const secure = connect({ socket, host: name, servername: isIP(name) === 0 ? name : "", ALPNProtocols: ["http/1.1"] });
  secure.once("secureConnect", resolve);
  // Stays for what comes later: the request hears of it by itself.
  secure.on("error", (cause) => reject(new FetchFailure(untrusted(url, cause), { cause })));
  secure.once("close", () => reject(new FetchFailure(`${hostOf(url)} ended the connection instead of speaking TLS`)));
  try {
    await unlessAborted(promise, signal);
    return secure;
  } catch (error) {
    secure.destroy();
    socket.destroy();
    throw error;
  }
}

function untrusted(url: WebUrl, error: unknown): string {
  const why = [errnoOf(error), quoted(messageOf(error))].filter((part) => part !== undefined).join(", ");
  return `${hostOf(url)} has no trusted TLS certificate (${why})`;
}
