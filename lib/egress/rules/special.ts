import { formatIpAddress, type IpAddress } from "./address.ts";
import { contains, range } from "./range.ts";

/**
 * The use of an address that is not public, such as `a loopback address`, with the IPv4 address inside it, if any;
 * undefined for a public one.
 */
export function specialUse(address: IpAddress): string | undefined {
  const inner = embedded(address);
  const judged = reachedBy(address);
  const use = ranges.find((range) => contains(range, judged))?.use;
  return use === undefined || inner === undefined ? use : `${use} (${formatIpAddress(inner.address)})`;
}

/** The address at which a packet arrives. */
export function reachedBy(address: IpAddress): IpAddress {
  const inner = embedded(address);
  return inner?.reaches === true ? inner.address : address;
}

/**
 * The IPv4 address that an IPv6 address stands for. `reaches`: a packet to the one arrives at the other, so it is as
 * public as that (a network without IPv4 reaches every IPv4 host through NAT64).
 */
export function embedded(address: IpAddress): { address: IpAddress; reaches: boolean } | undefined {
  const form = embeddings.find((form) => contains(form, address));
  if (form === undefined) return undefined;
  return { address: address.subarray(form.at, form.at + 4), reaches: form.reaches };
}

const embeddings = [
  { ...range("::ffff:0:0/96"), at: 12, reaches: true },
  { ...range("64:ff9b::/96"), at: 12, reaches: true },
  { ...range("::ffff:0:0:0/96"), at: 12, reaches: false },
  { ...range("2002::/16"), at: 2, reaches: false },
];

/** The first range that contains an address counts. */
const ranges = [
  is("a cloud metadata address", "169.254.169.254/32 100.100.100.200/32 168.63.129.16/32"),
  is("a cloud metadata address", "fd00:ec2::254/128 fd20:ce::254/128"),
  is("an unspecified address", "0.0.0.0/32 ::/128"),
  is("a loopback address", "127.0.0.0/8 ::1/128"),
  is("an address of this network", "0.0.0.0/8"),
  is("a private address", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
  is("a link-local address", "169.254.0.0/16 fe80::/10"),
  is("a site-local address", "fec0::/10"),
  is("an address shared by a carrier's customers", "100.64.0.0/10"),
  is("an address for protocols", "192.0.0.0/24 192.88.99.0/24"),
  is("an address for documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
  is("an address for benchmarks", "198.18.0.0/15 2001:2::/48"),
  is("a multicast address", "224.0.0.0/4 ff00::/8"),
  is("the broadcast address", "255.255.255.255/32"),
  is("a reserved address", "240.0.0.0/4"),
  is("an IPv4-translated address", "::ffff:0:0:0/96"),
  is("a NAT64 address of this network", "64:ff9b:1::/48"),
  is("a 6to4 address", "2002::/16"),
  is("a Teredo address", "2001::/32"),
  is("an ORCHID identifier", "2001:10::/28 2001:20::/28"),
  is("an address for protocols", "2001::/23"),
  is("a discard address", "100::/64"),
  is("a segment routing address", "5f00::/16"),
  // Of IPv6 only 2000::/3 is given out to hosts of the Internet: this is all the rest.
  is("a reserved address", "::/3 4000::/2 8000::/1"),
].flat();

function is(use: string, blocks: string) {
  return blocks.split(" ").map((block) => ({ ...range(block), use }));
}
