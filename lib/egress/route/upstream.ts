import { KodaError } from "../../errors.ts";
import { bracketed } from "../rules/address.ts";
import { isLoopback, parseAuthority, parseHost, parsePort, quoted, splitPort, type HostPort } from "../rules/host.ts";
import { contains } from "../rules/range.ts";
import type { RouteTraffic } from "./route.ts";

/** A proxy of the user's own, between this machine and its network. */
export type UpstreamProxy = {
  readonly protocol: "http" | "https" | "socks5";
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
};

/** The user's proxies, read once from the environment that koda was started in. */
export type Upstream = {
  readonly request: UpstreamProxy | undefined;
  readonly tunnel: UpstreamProxy | undefined;
  readonly direct: readonly Exception[];
};

type Exception = (target: HostPort) => boolean;
type Environment = Readonly<Record<string, string | undefined>>;

const protocols: Readonly<Record<string, { protocol: UpstreamProxy["protocol"]; port: number }>> = {
  "http:": { protocol: "http", port: 80 },
  "https:": { protocol: "https", port: 443 },
  // Both leave the look-up to the proxy: names may be known only there.
  "socks5:": { protocol: "socks5", port: 1080 },
  "socks5h:": { protocol: "socks5", port: 1080 },
};

/** Undefined when the environment names no proxy. A bad URL is an error, never a silent direct connection. */
export function parseUpstream(env: Environment): Upstream | undefined {
  const all = proxyIn(env, "ALL_PROXY");
  const request = proxyIn(env, "HTTP_PROXY") ?? all;
  const tunnel = proxyIn(env, "HTTPS_PROXY") ?? all;
  if (request === undefined && tunnel === undefined) return undefined;
  const direct = (valueIn(env, "NO_PROXY")?.value ?? "").split(/[\s,]+/).filter((entry) => entry !== "");
  return { request, tunnel, direct: direct.map(exceptionOf) };
}

/** The proxy to use for a target; undefined when it is reached directly. */
export function proxyFor(target: HostPort, upstream: Upstream | undefined, traffic: RouteTraffic) {
  const proxy = upstream?.[traffic];
  if (upstream === undefined || proxy === undefined || isHere(target)) return undefined;
  return upstream.direct.some((matches) => matches(target)) ? undefined : proxy;
}

/** The proxy that `fetch` takes to a URL, which goes through one to loopback too, and the variable that names it. */
export function proxyOfFetch(url: URL, env: Environment): { proxy: UpstreamProxy; variable: string } | undefined {
  const isTunnel = url.protocol === "https:";
  const upstream = parseUpstream(env);
  const proxy = isTunnel ? upstream?.tunnel : upstream?.request;
  const variable = valueIn(env, isTunnel ? "HTTPS_PROXY" : "HTTP_PROXY") ?? valueIn(env, "ALL_PROXY");
  const target = parseAuthority(url.host, isTunnel ? 443 : 80);
  if (upstream === undefined || proxy === undefined || variable === undefined || "fault" in target) return undefined;
  return upstream.direct.some((matches) => matches(target)) ? undefined : { proxy, variable: variable.name };
}

/** A proxy's name in messages, without its credentials. */
export function proxyName({ host, port }: UpstreamProxy): string {
  return `${bracketed(host)}:${port}`;
}

/** The lower-case variable wins, as in most programs. */
function valueIn(env: Environment, name: string): { name: string; value: string } | undefined {
  for (const spelling of [name.toLowerCase(), name]) {
    const value = env[spelling]?.trim() ?? "";
    if (value !== "") return { name: spelling, value };
  }
  return undefined;
}

function proxyIn(env: Environment, variable: string): UpstreamProxy | undefined {
  const given = valueIn(env, variable);
  if (given === undefined) return undefined;
  const proxy = parseProxy(given.value);
  if (!("fault" in proxy)) return proxy;
  throw new KodaError(
    "config",
    `The environment variable ${given.name} is not the URL of a proxy: ${quoted(withoutCredentials(given.value))} ${proxy.fault}. ` +
      `Expected http://, https://, socks5:// or socks5h:// with a host and a port; fix it or unset it.`,
  );
}

function parseProxy(value: string): UpstreamProxy | { fault: string } {
  const [, scheme = "http:", authority = ""] = /^(?:([a-z][a-z0-9+.-]*:)\/\/)?([^/?#]*)/i.exec(value) ?? [];
  const known = protocols[scheme.toLowerCase()];
  if (known === undefined) return { fault: `has the scheme ${quoted(scheme.slice(0, -1))}` };

  const at = authority.lastIndexOf("@");
  const place = parseAuthority(authority.slice(at + 1), known.port);
  if ("fault" in place) return { fault: `names no host (${place.fault})` };
  const credentials = at < 0 ? {} : parseCredentials(authority.slice(0, at));
  if (credentials === undefined) return { fault: "has credentials that are not percent-encoded as they should be" };
  return { protocol: known.protocol, host: place.host.text, port: place.port, ...credentials };
}

function parseCredentials(text: string): Pick<UpstreamProxy, "user" | "password"> | undefined {
  const [, user = "", password = ""] = /^([^:]*):?([^]*)$/.exec(text) ?? [];
  try {
    return { user: decodeURIComponent(user), password: decodeURIComponent(password) };
  } catch {
    return undefined;
  }
}

function withoutCredentials(value: string): string {
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^]*@/i, "$1...@");
}

/** An entry of NO_PROXY: `*`, a network, an address, or a host with all below it; each with a port or without. */
function exceptionOf(entry: string): Exception {
  if (entry === "*") return () => true;
  const network = networkOf(entry);
  if (network !== undefined) return network;

  const { host: hostText, port: portText } = splitPort(entry);
  const isAddress = "text" in parseHost(entry);
  const port = isAddress || portText === undefined ? undefined : parsePort(portText);
  const host = parseHost((isAddress ? entry : hostText).replace(/^\*?\./, ""));
  // A bad entry excepts nothing: the connection goes through the proxy.
  if ("fault" in host || (!isAddress && portText !== undefined && port === undefined)) return () => false;
  return (target) =>
    (port === undefined || port === target.port) &&
    (target.host.text === host.text || (host.kind === "name" && target.host.text.endsWith(`.${host.text}`)));
}

function networkOf(entry: string): Exception | undefined {
  const [, start = "", bits = ""] = /^([\d.]+|[\da-f:.]+)\/(\d{1,3})$/i.exec(entry) ?? [];
  const host = parseHost(start);
  if ("fault" in host || host.kind === "name" || Number(bits) > host.address.length * 8) return undefined;
  const network = { start: host.address, bits: Number(bits) };
  return (target) => target.host.kind === "address" && contains(network, target.host.address);
}

/** This machine is never reached through a proxy. */
function isHere({ host }: HostPort): boolean {
  return isLoopback(host.text) || host.text.endsWith(".localhost");
}
