import { domainToASCII, domainToUnicode } from "node:url";
import { formatIpAddress, parseIpAddress, type IpAddress } from "./address.ts";

/** A host in its canonical spelling, by which it is compared, looked up and connected to. */
export type NetworkHost =
  | { readonly kind: "name"; readonly text: string }
  | { readonly kind: "address"; readonly text: string; readonly address: IpAddress };

export type HostPort = { readonly host: NetworkHost; readonly port: number };

/** A parse error: a clause on one line of ASCII, fit for a header, that quotes the text. */
export type ParseFault = { readonly fault: string };

const longestName = 253;
const longestQuote = 80;

/**
 * Parses a host: exactly one well-formed name, IPv4 address or IPv6 address (with or without brackets). A name comes
 * out in lower case, without the dot at its end, international ones in punycode. A text that another parser could take
 * for another host is refused, not repaired.
 */
export function parseHost(text: string): NetworkHost | ParseFault {
  const fault = (why: string) => ({ fault: `${quoted(text)} is not a host: ${why}` });
  if (text === "") return fault("it is empty");
  if (text.length > longestName + 1) return fault(`it is longer than ${longestName} characters`);

  const address = parseIpAddress(/^\[(.*:.*)\]$/.exec(text)?.[1] ?? text);
  if (address !== undefined) return { kind: "address", text: formatIpAddress(address), address };
  if (/[:[\]]/.test(text)) return fault("it is neither a name nor an IPv6 address");

  // Only A to Z: there are other letters (the sign for Kelvin) whose lower case is a letter of ASCII.
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/\.$/, "");
  const foreign = /[^\w.\-\u0080-\uffff]/.exec(lower)?.[0];
  if (foreign !== undefined) return fault(`${quoted(foreign)} is not allowed in a name`);
  if (/(?:^|\.)-|-(?:\.|$)/.test(lower)) return fault("a label begins or ends with a hyphen");
  const name = asciiName(lower);
  if (name === undefined)
    return fault("it is not an international name in its canonical form (lower case, composed letters)");
  const why = nameFault(name);
  return why === undefined ? { kind: "name", text: name } : fault(why);
}

/** True for this machine, as URLs or `parseHost` spell it; `127.0.0.1.example` is a name like any other. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
}

/**
 * The name as it is looked up; undefined when letters would have to be replaced for that: `GITHUB.COM` in full-width
 * letters is github.com for one program and another name for the next.
 */
function asciiName(name: string): string | undefined {
  const isPlain = /^[\w.-]*$/.test(name);
  if (isPlain && !/(?:^|\.)xn--/.test(name)) return name;
  const ascii = domainToASCII(name);
  return (isPlain ? ascii : domainToUnicode(ascii)) === name ? ascii : undefined;
}

function nameFault(name: string): string | undefined {
  if (name.length > longestName) return `it is longer than ${longestName} characters`;
  const labels = name.split(".");
  for (const label of labels) {
    if (label === "") return "a label is empty";
    if (label.length > 63) return "a label is longer than 63 characters";
  }
  // Many programs read such a name as an IPv4 address: 127.1, 0x7f.1, 017700000001.
  const looksNumeric = /^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "");
  return looksNumeric ? "it ends in a number and is not an IPv4 address of four decimal octets" : undefined;
}

/** Parses `host:port`, or `host` alone where a default port is given. IPv6 needs brackets. */
export function parseAuthority(text: string, defaultPort?: number): HostPort | ParseFault {
  const parts = splitPort(text);
  const port = parts.port === undefined ? defaultPort : parsePort(parts.port);
  if (port === undefined) {
    const why = parts.port === undefined ? "it names no port" : "its port is not a number from 1 to 65535";
    return { fault: `${quoted(text)} is not host:port: ${why}` };
  }
  if (parts.host.includes(":") && !parts.host.startsWith("[")) {
    return { fault: `${quoted(text)} is not host:port: an IPv6 address needs brackets` };
  }
  const host = parseHost(parts.host);
  return "fault" in host ? host : { host, port };
}

/** Splits at the last colon outside of brackets. */
export function splitPort(text: string): { host: string; port: string | undefined } {
  const [, host = text, port] = /^(\[[^\]]*\]|[^[\]]*):([^:]*)$/.exec(text) ?? [];
  return { host, port };
}

export function parsePort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}

/** An untrusted text in quotes, cut, with everything escaped that is not printable ASCII. */
export function quoted(text: string): string {
  const cut = text.length > longestQuote ? `${text.slice(0, longestQuote)}...` : text;
  return JSON.stringify(cut).replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
