import { isSameIpAddress, type IpAddress } from "./address.ts";
import { authorityOf } from "./authority.ts";
import { parseHost, parsePort, quoted, splitPort, type ParseFault, type HostPort } from "./host.ts";
import { embedded } from "./special.ts";

/** A host, one label below a suffix (`*.example.com`), or an address; with a port or without. */
export type Pattern = {
  /** As it was given. */
  readonly text: string;
  readonly port: number | undefined;
  /** The host takes git over SSH: an allowance includes port 22. */
  readonly git?: true;
} & (
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "below"; readonly suffix: string }
  | { readonly kind: "address"; readonly address: IpAddress }
);

/** The ports of an allowance that names none. */
export const webPorts: readonly number[] = [80, 443];
const sshPort = 22;

/** `wide`: a denial may name a suffix of one label (`*.example`), with which an allowance would allow too much. */
export function parsePattern(text: string, { wide }: { wide: boolean }): Pattern | ParseFault {
  const fault = (why: string) => ({ fault: `${quoted(text)} is not a host pattern: ${why}` });
  if (text === "") return fault("it is empty");
  if (text.includes("://")) return fault("it is a URL: give only its host");

  const { host: hostText, port: portText } = splitPort(text);
  const port = portText === undefined ? undefined : parsePort(portText);
  if (hostText === "*") return fault("it is every host; --net open and --net none are for that");
  const isBelow = hostText.startsWith("*.");
  const rest = isBelow ? hostText.slice(2) : hostText;
  if (rest.includes("*")) return fault('"*" stands for one whole label, the first');
  if (rest.includes(":") && !rest.startsWith("[")) return fault("an IPv6 address needs brackets");
  if (portText !== undefined && port === undefined) return fault("its port is not a number from 1 to 65535");

  const host = parseHost(rest);
  if ("fault" in host) return host;
  if (host.kind === "address") {
    return isBelow ? fault("an address has no labels") : { kind: "address", address: host.address, text, port };
  }
  if (!isBelow) return { kind: "name", name: host.text, text, port };
  if (!wide && !host.text.includes(".")) return fault(`it would allow every name in ".${host.text}"`);
  return { kind: "below", suffix: `.${host.text}`, text, port };
}

/** The pattern for this host on this port alone. */
export function exactly(target: HostPort): Pattern {
  const { host, port } = target;
  const text = authorityOf(target);
  if (host.kind === "name") return { kind: "name", name: host.text, text, port };
  return { kind: "address", address: host.address, text, port };
}

/** Matches an allowance, read narrowly: `*` is exactly one label, and no port means those of the web. */
export function allows(pattern: Pattern, { host, port }: HostPort): boolean {
  if (!allowsPort(pattern, port)) return false;
  switch (pattern.kind) {
    case "name":
      return host.kind === "name" && host.text === pattern.name;
    case "below":
      return host.kind === "name" && isOneBelow(host.text, pattern.suffix);
    case "address":
      return host.kind === "address" && isSameIpAddress(host.address, pattern.address);
    default:
      return pattern satisfies never;
  }
}

function isOneBelow(name: string, suffix: string): boolean {
  return name.endsWith(suffix) && !name.slice(0, -suffix.length).includes(".");
}

function allowsPort({ port: named, git }: Pattern, port: number): boolean {
  if (named !== undefined) return named === port;
  return webPorts.includes(port) || (git === true && port === sshPort);
}

/**
 * Matches a denial, read widely: `*` is one label or more, no port means every port, and an IPv4 address also matches
 * inside of an IPv6 address.
 */
export function denies(pattern: Pattern, { host, port }: HostPort): boolean {
  if (pattern.port !== undefined && pattern.port !== port) return false;
  switch (pattern.kind) {
    case "name":
      return host.kind === "name" && host.text === pattern.name;
    case "below":
      return host.kind === "name" && host.text.endsWith(pattern.suffix);
    case "address":
      return host.kind === "address" && facesOf(host.address).some((face) => isSameIpAddress(face, pattern.address));
    default:
      return pattern satisfies never;
  }
}

function facesOf(address: IpAddress): IpAddress[] {
  const inner = embedded(address);
  return inner === undefined ? [address] : [address, inner.address];
}
