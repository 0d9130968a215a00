import type { Socket } from "node:net";

/** SOCKS5 (RFC 1928), as our proxy and our client speak it. */
export const socksVersion = 5;

export const methods = { none: 0, password: 2, refused: 0xff } as const;

export const connectCommand = 1;

/** The lengths of addresses by their type, IPv4 or IPv6. */
export const addressLengths: Readonly<Record<number, number>> = { 1: 4, 4: 16 };
/** A name has its length before it. */
export const nameType = 3;

/** A message and its length in bytes; undefined while there is not enough of it. */
export type Parsed<T> = { value: T; length: number } | undefined;

/**
 * Reads a message in however many pieces it arrives; later bytes stay unread. Rejects when the connection ends. A pause
 * would outlast the reading, so the stream is read and not made to flow.
 */
export function readMessage<T>(socket: Socket, parse: (bytes: Buffer) => Parsed<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let bytes: Buffer = Buffer.alloc(0);
  const take = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    bytes = Buffer.concat([bytes, chunk]);
    const parsed = parse(bytes);
    if (parsed === undefined) return;
    socket.off("readable", take).off("end", leave).off("close", leave).off("error", reject);
    if (bytes.length > parsed.length) socket.unshift(bytes.subarray(parsed.length));
    resolve(parsed.value);
  };
  const leave = () => reject(new Error("the connection was closed"));
  socket.on("readable", take).once("end", leave).once("close", leave).once("error", reject);
  return promise;
}
