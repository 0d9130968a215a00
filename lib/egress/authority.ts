import type { Target } from "./host.ts";

/** A target as `host:port`, an IPv6 address in brackets; without the port where it is the usual one. */
export function authorityOf({ host, port }: Target, usualPort?: number): string {
  const name = host.kind === "address" && host.text.includes(":") ? `[${host.text}]` : host.text;
  return port === usualPort ? name : `${name}:${port}`;
}
