import { parseAuthority, type ParseFault, type HostPort } from "./host.ts";

/**
 * Reads `host:port` as a stranger wrote it. What stands before an "@" is often a password and is not repeated; in which
 * encoding letters beyond ASCII are meant, nobody says.
 */
export function readAuthority(text: string, defaultPort?: number): HostPort | ParseFault {
  if (text.includes("@")) return { fault: "credentials do not belong before the host; send them in a header" };
  if (/[^!-~]/.test(text)) return { fault: "the host is not ASCII" };
  return parseAuthority(text, defaultPort);
}

/** A target as `host:port`, an IPv6 address in brackets; without the port where it is the usual one. */
export function authorityOf({ host, port }: HostPort, usualPort?: number): string {
  const name = host.kind === "address" && host.text.includes(":") ? `[${host.text}]` : host.text;
  return port === usualPort ? name : `${name}:${port}`;
}
