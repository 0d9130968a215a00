import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { unlessRefused } from "../../errors.ts";
import { parseIpAddress, type IpAddress } from "./address.ts";
import { contains, range, type Range } from "./range.ts";
import { reachedBy } from "./special.ts";

/**
 * The relation of an address to this machine, such as `an address of this machine`; undefined for all other hosts. A
 * server that only listens for this machine or its network may do so at a public address.
 */
export function machineUse(address: IpAddress): string | undefined {
  const judged = reachedBy(address);
  const { own, onLink } = routes();
  if (own.some((range) => contains(range, judged))) return "an address of this machine";
  return onLink.some((range) => contains(range, judged)) ? "an address of this machine's network" : undefined;
}

type Routes = { own: readonly Range[]; onLink: readonly Range[] };

/** Interfaces come and go, but hardly within this time. */
const freshMs = 1_000;

let known: (Routes & { at: number }) | undefined;

function routes(): Routes {
  const now = performance.now();
  if (known === undefined || now - known.at > freshMs) known = { ...readRoutes(), at: now };
  return known;
}

/**
 * As the kernel routes. Its tables have what the list of interfaces lacks: addresses of an interface without a carrier,
 * ranges that are routed to this machine, and networks of which it has only a single address. Where there are no tables
 * the list has to do.
 */
function readRoutes(): Routes {
  const [trie, table] = ["/proc/net/fib_trie", "/proc/net/ipv6_route"].map((path) =>
    unlessRefused(() => readFileSync(path, "latin1")),
  );
  const rows = (table ?? "").split("\n").flatMap(parseRow);
  const listed = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return {
    own: [
      ...localRanges(trie ?? ""),
      ...rows.filter(({ flags }) => flags & RTF_LOCAL).map(({ range }) => range),
      ...listed.map(({ address }) => hostRange(address)),
    ],
    onLink: [
      ...rows.filter(isOnLink).map(({ range }) => range),
      ...listed.flatMap(({ family, cidr }) => (family === "IPv6" && cidr !== null ? [range(cidr)] : [])),
    ].filter(({ bits }) => bits >= largestSite),
  };
}

/** The shortest prefix of a network of one's own. A shorter one is a tunnel's way to a part of the Internet. */
const largestSite = 48;

function hostRange(text: string): Range {
  return range(`${text}/${text.includes(":") ? 128 : 32}`);
}

/** The leaves of the trie name an address in one line and the prefixes that begin with it in the next ones. */
function localRanges(trie: string): Range[] {
  let start = "";
  return trie.split("\n").flatMap((line) => {
    start = /\|-- ([\d.]+)/.exec(line)?.[1] ?? start;
    const bits = /^\s*\/(\d+) \w+ LOCAL/.exec(line)?.[1];
    return bits === undefined ? [] : [range(`${start}/${bits}`)];
  });
}

type Row = { range: Range; gateway: string; flags: number; device: string };

/** The columns: network, bits, source, its bits, gateway, metric, users, uses, flags, device. */
function parseRow(line: string): Row[] {
  const [start = "", bits = "", , , gateway = "", , , , flags = "", device = ""] = line.trim().split(/\s+/);
  const address = parseIpAddress(start.replace(/.{4}(?=.)/g, "$&:"));
  if (address === undefined) return [];
  return [{ range: { start: address, bits: parseInt(bits, 16) }, gateway, flags: parseInt(flags, 16), device }];
}

const RTF_UP = 0x1;
const RTF_GATEWAY = 0x2;
const RTF_REJECT = 0x200;
const RTF_LOCAL = 0x80000000;

function isOnLink({ gateway, flags, device }: Row): boolean {
  return (flags & (RTF_UP | RTF_GATEWAY | RTF_REJECT)) === RTF_UP && /^0+$/.test(gateway) && device !== "lo";
}
