/** An IP address as its bytes in network order: four, or sixteen. */
export type IpAddress = Uint8Array;

/**
 * Parses an IP address strictly: four decimal octets, or IPv6 without a zone. The system's own parsers also take octal,
 * hexadecimal and shortened forms, and a text that two parsers read differently is a way round a rule.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  const bytes = text.includes(":") ? sixteenBytes(text) : fourBytes(text);
  return bytes === undefined ? undefined : Uint8Array.from(bytes);
}

function fourBytes(text: string): number[] | undefined {
  const octets = text.split(".");
  if (octets.length !== 4 || !octets.every((octet) => /^(?:0|[1-9]\d{0,2})$/.test(octet))) return undefined;
  const bytes = octets.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function sixteenBytes(text: string): number[] | undefined {
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  if (tail === undefined) return ofLength(16, groupBytes(head, { last: true }));

  const before = groupBytes(head, { last: false });
  const after = groupBytes(tail, { last: true });
  if (before === undefined || after === undefined) return undefined;
  const missing = 16 - before.length - after.length;
  // "::" stands for at least one group of two bytes.
  return missing < 2 ? undefined : [...before, ...Array<number>(missing).fill(0), ...after];
}

function ofLength(length: number, bytes: number[] | undefined): number[] | undefined {
  return bytes?.length === length ? bytes : undefined;
}

/** The bytes of groups between colons; only where an address ends may four octets stand for two groups. */
function groupBytes(text: string, { last }: { last: boolean }): number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const isEnd = last && index === groups.length - 1;
    const found = isEnd && group.includes(".") ? fourBytes(group) : twoBytes(group);
    if (found === undefined) return undefined;
    bytes.push(...found);
  }
  return bytes;
}

function twoBytes(group: string): number[] | undefined {
  if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

/** The canonical form: octets, or the shortest form of IPv6, without brackets. */
export function formatIpAddress(address: IpAddress): string {
  if (address.length === 4) return address.join(".");
  const groups = Buffer.from(address).toString("hex").replace(/.{4}/g, "$&:").slice(0, -1);
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}

/** A host before a port: IPv6 in brackets. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The same address, of the same family. */
export function isSameIpAddress(a: IpAddress, b: IpAddress): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
