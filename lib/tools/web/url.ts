import { authorityOf } from "../../egress/rules/authority.ts";
import { parseAuthority, quoted, type ParseFault, type HostPort } from "../../egress/rules/host.ts";

/** An address of the web in its parts. Its host is read without repair: what is judged is what is connected to. */
export type WebUrl = {
  readonly scheme: "http" | "https";
  readonly target: HostPort;
  /** With the query, as it is sent. */
  readonly path: string;
};

const ports = { http: 80, https: 443 } as const;
const longestUrl = 8 * 1024;

/**
 * Reads a URL as text. No other reader comes first: theirs turn `127.1` into an address, drop what is in the way, and
 * so make a good host of a bad one. What does not belong into a path is percent-encoded; the fragment is left away.
 */
export function parseUrl(given: string): WebUrl | ParseFault {
  const text = given.trim();
  const fault = (why: string) => ({ fault: `${quoted(text)} cannot be fetched: ${why}` });
  if (text.length > longestUrl) return fault(`it is longer than ${longestUrl} characters`);
  const [, schemeText, authority = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)/i.exec(text) ?? [];
  const scheme = schemeText?.toLowerCase();
  if (scheme !== "http" && scheme !== "https") return fault("expected an absolute http:// or https:// URL");
  // The words before an "@" are made to be taken for the host.
  if (authority.includes("@")) return { fault: "a URL with a user or a password before its host is not fetched" };
  const target = parseAuthority(authority, ports[scheme]);
  if ("fault" in target) return fault(target.fault);
  if (/\p{Cc}/u.test(rest)) return fault("its path has a control character");
  return { scheme, target, path: encoded(rest.startsWith("/") ? rest : `/${rest}`) };
}

export function formatUrl({ scheme, target, path }: WebUrl): string {
  return `${originOf({ scheme, target })}${path}`;
}

/** The Host header. */
export function hostOf({ scheme, target }: WebUrl): string {
  return authorityOf(target, ports[scheme]);
}

/**
 * A reference of a page or of its header as a whole URL (RFC 3986, section 5.2). It is not judged here, only put
 * together.
 */
export function resolveReference(reference: string, base: WebUrl): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(reference)) return reference;
  if (reference.startsWith("//")) return `${base.scheme}:${reference}`;
  const [, path = "", rest = ""] = /^([^?#]*)([^]*)$/.exec(reference) ?? [];
  if (path !== "") return originOf(base) + withoutDots(path.startsWith("/") ? path : directoryOf(base) + path) + rest;
  return originOf(base) + (rest.startsWith("?") ? pathOf(base) : base.path) + rest;
}

function originOf({ scheme, target }: Pick<WebUrl, "scheme" | "target">): string {
  return `${scheme}://${authorityOf(target, ports[scheme])}`;
}

function pathOf({ path }: WebUrl): string {
  return path.replace(/\?[^]*$/, "");
}

function directoryOf(base: WebUrl): string {
  const path = pathOf(base);
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function withoutDots(path: string): string {
  if (!path.includes("/.")) return path;
  const kept: string[] = [];
  const segments = path.slice(1).split("/");
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  const isDirectory = /^\.\.?$/.test(segments.at(-1) ?? "") && kept.length > 0;
  return `/${kept.join("/")}${isDirectory ? "/" : ""}`;
}

function encoded(path: string): string {
  return path.toWellFormed().replace(/[^!-~]+|["<>\\^`{|}]/g, encodeURIComponent);
}
