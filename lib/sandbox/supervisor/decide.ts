import { constants } from "node:os";
import { callerAt } from "../../egress/caller.ts";
import { type Address, inetAddress } from "./address.ts";
import type { ConnectRules } from "./rules.ts";

const { EACCES, ENOENT } = constants.errno;

/** SOCK_STREAM and SOCK_SEQPACKET; a datagram socket could be turned to something else by every message. */
const [stream, wholeMessages] = [1, 5] as const;

export type Decision =
  /** Connects a socket of one of the types, if they matter, to exactly these bytes, with the source address `from`. */
  | { do: "connect"; bytes: Uint8Array; types?: readonly number[]; from?: Uint8Array }
  /** Finds the file by its absolute path, as the command sees it; `mayConnectTo` then has the last word. */
  | { do: "find"; path: string; types: readonly number[] }
  /** The rules refuse `what`; without it, the address makes no sense. */
  | { do: "refuse"; errno: number; what?: string };

/** Decides about a connect() by a process in the directory `cwd`. */
export function decide(address: Address, { cwd }: { cwd: string }, rules: ConnectRules): Decision {
  switch (address.family) {
    case "unspecified":
      return { do: "connect", bytes: address.bytes };
    case "path":
      return findPath(address.path, cwd);
    case "abstract":
      if (!rules.abstract) return { do: "refuse", errno: EACCES, what: inWords(address) };
      return { do: "connect", bytes: address.bytes, types: [stream, wholeMessages] };
    case "inet":
    case "inet6":
      return decideInternet(address, rules);
    default:
      return address satisfies never;
  }
}

/** The system's name for a directory that is gone leads nowhere, and so does what is relative to it. */
function findPath(path: string, cwd: string): Decision {
  if (path === "") return { do: "refuse", errno: ENOENT };
  const types = [stream, wholeMessages];
  return { do: "find", path: path.startsWith("/") ? path : `${cwd}/${path}`, types };
}

type Internet = Extract<Address, { family: "inet" | "inet6" }>;

/**
 * Exactly these: the same address in the form of IPv6, or another one of this machine at the same port, is another. The
 * address of a caller stands for the proxy at that port, which finds it as the source of the connection.
 */
function decideInternet(address: Internet, { tcp }: ConnectRules): Decision {
  const { family, host, port, bytes } = address;
  if (tcp === "any") return { do: "connect", bytes };
  const atPort = family === "inet" ? tcp.filter((endpoint) => endpoint.port === port) : [];
  if (atPort.some((endpoint) => endpoint.address === host)) return { do: "connect", bytes, types: [stream] };
  const [proxy] = callerAt(host) === undefined ? [] : atPort;
  if (proxy === undefined) return { do: "refuse", errno: EACCES, what: inWords(address) };
  return { do: "connect", bytes: inetAddress(proxy), types: [stream], from: inetAddress({ address: host, port: 0 }) };
}

/** An address that is no file, as people are told of it. */
export function inWords(address: Exclude<Address, { family: "unspecified" | "path" }>): string {
  if (address.family === "abstract") return `the abstract unix socket "@${readable(address.name)}"`;
  const { family, host, port } = address;
  return family === "inet" ? `${host}:${port}` : `[${host}]:${port}`;
}

/** Directories whose content git and koda obey: no command needs a socket there. */
const ownNames = new Set([".git", ".koda"]);

/** `real` is a path of the host. */
export function mayConnectTo(real: string, { sockets, except }: ConnectRules): boolean {
  if (except.some((path) => real === bytewise(path) || liesBelow(real, bytewise(path)))) return false;
  return sockets.some((root) => {
    const above = bytewise(root);
    return (
      liesBelow(real, above) &&
      !real
        .slice(above.length)
        .split("/")
        .some((name) => ownNames.has(name))
    );
  });
}

export function liesBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** A text as its bytes, each one character: what paths of commands and of the kernel are compared with. */
export function bytewise(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** The text that such bytes are. */
export function readable(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}
