import { unlessAborted } from "../../async/unlessaborted.ts";
import { errnoOf, messageOf } from "../../errors.ts";
import { formatIpAddress, parseIpAddress } from "./address.ts";
import { addressRefusal, nameRefusal } from "./decide.ts";
import { quoted, type HostPort } from "./host.ts";
import type { EgressRules } from "./rules.ts";

/** All addresses of a name, as text; throws when it has none. */
export type Resolver = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** `addresses` were checked: a connection goes to one of them, with no second look-up. */
export type Resolution = { addresses: readonly string[] } | { refused: string; kind: "rule" | "dns" | "timeout" };

export type NameLookup = { resolver?: Resolver | undefined; signal: AbortSignal; limitMs?: number };

const lookupLimitMs = 2_000;

/**
 * Judges a target's name, looks it up, and judges every address. One forbidden address refuses all: a name that points
 * into a private network as well cannot be trusted with its other addresses.
 */
export async function resolveChecked(target: HostPort, rules: EgressRules, lookup: NameLookup): Promise<Resolution> {
  const refused = nameRefusal(target, rules);
  if (refused !== undefined) return { refused, kind: "rule" };

  const found = await addressesOf(target, lookup);
  if ("refused" in found) return found;
  for (const address of found.addresses) {
    const refused = addressRefusal(target, address, rules);
    if (refused !== undefined) return { refused, kind: "rule" };
  }
  return { addresses: found.addresses.map(canonical) };
}

async function addressesOf(
  { host }: HostPort,
  { resolver, signal, limitMs = lookupLimitMs }: NameLookup,
): Promise<Resolution> {
  if (host.kind === "address") return { addresses: [host.text] };
  signal.throwIfAborted();
  const late = AbortSignal.timeout(limitMs);
  const over = AbortSignal.any([signal, late]);
  try {
    // The system's look-up cannot be stopped.
    const addresses = await unlessAborted((resolver ?? systemResolver)(host.text, over), over);
    if (addresses.length === 0) return { refused: `${host.text} has no address`, kind: "dns" };
    return { addresses };
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) return { refused: `${host.text} could not be looked up within ${limitMs} ms`, kind: "timeout" };
    const why = errnoOf(error) ?? quoted(messageOf(error));
    return { refused: `${host.text} could not be looked up (${why})`, kind: "dns" };
  }
}

function canonical(address: string): string {
  const parsed = parseIpAddress(address);
  return parsed === undefined ? address : formatIpAddress(parsed);
}

/** Finds the same addresses as other programs of this machine, `/etc/hosts` included. */
export const systemResolver: Resolver = async (name) => {
  const { lookup } = await import("node:dns/promises");
  const found = await lookup(name, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};
