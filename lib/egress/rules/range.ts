import { isSameIpAddress, parseIpAddress, type IpAddress } from "./address.ts";

/** All addresses that begin with the same bits. */
export type Range = { readonly start: IpAddress; readonly bits: number };

/** Parses a constant such as `10.0.0.0/8`. */
export function range(block: string): Range {
  const [start = "", bits] = block.split("/");
  const address = parseIpAddress(start);
  if (address === undefined) throw new Error(`"${block}" is not a range of addresses`);
  return { start: address, bits: Number(bits) };
}

export function contains({ start, bits }: Range, address: IpAddress): boolean {
  if (address.length !== start.length) return false;
  const whole = bits >> 3;
  const mask = 0xff & (0xff00 >> (bits & 7));
  return (
    isSameIpAddress(address.subarray(0, whole), start.subarray(0, whole)) &&
    ((address[whole] ?? 0) & mask) === ((start[whole] ?? 0) & mask)
  );
}
