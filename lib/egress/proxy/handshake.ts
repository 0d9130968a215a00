import { formatIpAddress } from "../rules/address.ts";
import { parseHost, type HostPort } from "../rules/host.ts";

/** What a client of SOCKS5 says first; undefined while there is not enough of it. RFC 1928, sections 3 and 4. */
export type Parsed<T> = { value: T; length: number } | undefined;

export const socksVersion = 5;

export type Greeting = { isSocks5: boolean; methods: readonly number[] };

export function readGreeting(bytes: Buffer): Parsed<Greeting> {
  const [first, count] = bytes;
  if (first === undefined) return undefined;
  if (first !== socksVersion) return { value: { isSocks5: false, methods: [] }, length: 1 };
  if (count === undefined || bytes.length < 2 + count) return undefined;
  return { value: { isSocks5: true, methods: [...bytes.subarray(2, 2 + count)] }, length: 2 + count };
}

export type SocksRequest =
  | { kind: "connect"; target: HostPort }
  | { kind: "fault"; fault: string }
  | { kind: "other command" }
  | { kind: "other address" };

export const connectCommand = 1;
/** By the type of an address, IPv4 or IPv6. */
export const addressLengths: Readonly<Record<number, number>> = { 1: 4, 4: 16 };
export const nameType = 3;

export function readRequest(bytes: Buffer): Parsed<SocksRequest> {
  const [first, command, reserved, type, nameLength] = bytes;
  if (first === undefined || command === undefined || reserved === undefined || type === undefined) return undefined;
  const isName = type === nameType;
  const length = isName ? nameLength : addressLengths[type];
  if (!isName && length === undefined) return { value: { kind: "other address" }, length: 4 };
  if (length === undefined) return undefined;

  const start = isName ? 5 : 4;
  const end = start + length + 2;
  if (bytes.length < end) return undefined;
  const value = (): SocksRequest => {
    if (first !== socksVersion || reserved !== 0) return { kind: "fault", fault: "the request is not SOCKS5" };
    if (command !== connectCommand) return { kind: "other command" };
    const named = bytes.subarray(start, start + length);
    return targetOf(isName ? named.toString("latin1") : formatIpAddress(named), bytes.readUInt16BE(start + length));
  };
  return { value: value(), length: end };
}

function targetOf(text: string, port: number): SocksRequest {
  // Nobody says in which encoding: what one reader takes for a name is another one's other name.
  if (/[^!-~]/.test(text)) return { kind: "fault", fault: "the name is not ASCII" };
  const host = parseHost(text);
  if ("fault" in host) return { kind: "fault", fault: host.fault };
  if (port === 0) return { kind: "fault", fault: "there is no port 0" };
  return { kind: "connect", target: { host, port } };
}
