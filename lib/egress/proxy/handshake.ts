import type { Socket } from "node:net";
import { formatIpAddress } from "../rules/address.ts";
import { parseHost, type HostPort } from "../rules/host.ts";

/** A message of SOCKS5 and its length in bytes; undefined while there is not enough of it. */
export type Parsed<T> = { value: T; length: number } | undefined;

export const socksVersion = 5;

type Greeting = { isSocks5: boolean; methods: readonly number[] };

/** RFC 1928, section 3. */
export function readGreeting(bytes: Buffer): Parsed<Greeting> {
  const [first, count] = bytes;
  if (first === undefined) return undefined;
  if (first !== socksVersion) return { value: { isSocks5: false, methods: [] }, length: 1 };
  if (count === undefined || bytes.length < 2 + count) return undefined;
  return { value: { isSocks5: true, methods: [...bytes.subarray(2, 2 + count)] }, length: 2 + count };
}

type SocksRequest =
  | { kind: "connect"; target: HostPort }
  | { kind: "fault"; fault: string }
  | { kind: "other command" }
  | { kind: "other address" };

export const connectCommand = 1;
/** By the type of an address, IPv4 or IPv6. */
export const addressLengths: Readonly<Record<number, number>> = { 1: 4, 4: 16 };
export const nameType = 3;

/** RFC 1928, section 4. */
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

/** Reads a message in however many pieces it arrives; later bytes stay unread. Rejects when the connection ends. */
export function readMessage<T>(socket: Socket, parse: (bytes: Buffer) => Parsed<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let bytes: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const parsed = parse(bytes);
    if (parsed === undefined) return;
    socket.off("data", take).off("end", leave).off("close", leave).off("error", reject).pause();
    if (bytes.length > parsed.length) socket.unshift(bytes.subarray(parsed.length));
    resolve(parsed.value);
  };
  const leave = () => reject(new Error("it closed the connection"));
  socket.on("data", take).once("end", leave).once("close", leave).once("error", reject);
  socket.resume();
  return promise;
}
