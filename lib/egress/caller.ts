import type { Socket } from "node:net";

/**
 * A caller (a call, a hook) runs commands beside those of others. It has a number, and its commands find the proxies at
 * a loopback address of its own, so that a connection says who asked. This is for the record and no protection: a
 * command can use the address of another caller.
 */
export function callerAddress(caller: number): string {
  if (caller >= addressCount) return shared;
  return `127.${firstOctet + (caller >> 16)}.${(caller >> 8) & 0xff}.${caller & 0xff}`;
}

/** 127.8.0.0 to 127.254.255.255: the machine's own servers use lower addresses, and the highest is for broadcasts. */
const firstOctet = 8;
const addressCount = (255 - firstOctet) << 16;

/** Later callers are not told apart. */
const shared = "127.0.0.1";

export function callerAt(address: string | undefined): number | undefined {
  const [, high, middle, low] = /^127\.(\d+)\.(\d+)\.(\d+)$/.exec(address ?? "")?.map(Number) ?? [];
  if (high === undefined || middle === undefined || low === undefined) return undefined;
  const caller = ((high - firstOctet) << 16) | (middle << 8) | low;
  return caller >= 0 && caller < addressCount ? caller : undefined;
}

/**
 * In a network of the commands' own the proxies listen at every address. On this machine's loopback they listen only at
 * 127.0.0.1, and the supervisor that connects for a command makes the caller's address the source.
 */
export function callerOf({ localAddress, remoteAddress }: Pick<Socket, "localAddress" | "remoteAddress">) {
  return callerAt(localAddress) ?? callerAt(remoteAddress);
}
