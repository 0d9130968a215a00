import { formatIpAddress } from "../rules/address.ts";
import { parseHost, type HostPort } from "../rules/host.ts";
import { addressLengths, connectCommand, nameType, socksVersion, type Parsed } from "./message.ts";

type Greeting = { isSocks5: boolean; methods: readonly number[] };

export function parseGreeting(bytes: Buffer): Parsed<Greeting> {
  const [version, count] = bytes;
  if (version === undefined) return undefined;
  if (version !== socksVersion) return { value: { isSocks5: false, methods: [] }, length: 1 };
  if (count === undefined || bytes.length < 2 + count) return undefined;
  return { value: { isSocks5: true, methods: [...bytes.subarray(2, 2 + count)] }, length: 2 + count };
}

type SocksRequest =
  | { kind: "connect"; target: HostPort }
  | { kind: "fault"; fault: string }
  | { kind: "other command" }
  | { kind: "other address" };

export function parseRequest(bytes: Buffer): Parsed<SocksRequest> {
  const [version, command, reserved, type, nameLength] = bytes;
  if (version === undefined || command === undefined || reserved === undefined || type === undefined) return undefined;
  const isName = type === nameType;
  const length = isName ? nameLength : addressLengths[type];
  if (!isName && length === undefined) return { value: { kind: "other address" }, length: 4 };
  if (length === undefined) return undefined;

  const start = isName ? 5 : 4;
  const end = start + length + 2;
  if (bytes.length < end) return undefined;
  const value = (): SocksRequest => {
    if (version !== socksVersion || reserved !== 0) return { kind: "fault", fault: "the request is not SOCKS5" };
    if (command !== connectCommand) return { kind: "other command" };
    const host = bytes.subarray(start, start + length);
    return requestTo(isName ? host.toString("latin1") : formatIpAddress(host), bytes.readUInt16BE(start + length));
  };
  return { value: value(), length: end };
}

function requestTo(text: string, port: number): SocksRequest {
  // The encoding is not given, so two readers could take the same bytes for different names.
  if (/[^!-~]/.test(text)) return { kind: "fault", fault: "the name is not ASCII" };
  const host = parseHost(text);
  if ("fault" in host) return { kind: "fault", fault: host.fault };
  if (port === 0) return { kind: "fault", fault: "there is no port 0" };
  return { kind: "connect", target: { host, port } };
}
