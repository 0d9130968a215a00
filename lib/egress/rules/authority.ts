import { bracketed } from "./address.ts";
import { parseAuthority, type ParseFault, type HostPort } from "./host.ts";

/**
 * Parses `host:port` from a client. The part before an "@" is often a password, so it is not repeated in the fault; the
 * encoding of letters beyond ASCII is unknown.
 */
export function readAuthority(text: string, defaultPort?: number): HostPort | ParseFault {
  if (text.includes("@")) return { fault: "credentials do not belong before the host; send them in a header" };
  if (/[^!-~]/.test(text)) return { fault: "the host is not ASCII" };
  return parseAuthority(text, defaultPort);
}

/** A target as `host:port`, an IPv6 address in brackets; without the port where it is the usual one. */
export function authorityOf({ host, port }: HostPort, usualPort?: number): string {
  return port === usualPort ? bracketed(host.text) : `${bracketed(host.text)}:${port}`;
}
