import { bracketed, formatIpAddress, parseIpAddress } from "./address.ts";
import { authorityOf } from "./authority.ts";
import { quoted, type HostPort } from "./host.ts";
import { machineUse } from "./machine.ts";
import { allows, denies, webPorts } from "./pattern.ts";
import type { EgressRules } from "./rules.ts";
import { specialUse } from "./special.ts";

/**
 * Judges a host by its name, or by an address in the place of one, before any look-up. Returns why it is refused, on
 * one line of ASCII that names the host and the flag that would allow it.
 */
export function nameRefusal(target: HostPort, { mode, allow, deny }: EgressRules): string | undefined {
  const name = shownTarget(target);
  const denial = deny.find((pattern) => denies(pattern, target));
  if (denial !== undefined) return deniedBy(name, denial.text);
  if (mode === "none") return networkOff(target);
  if (allow.some((pattern) => allows(pattern, target))) return undefined;
  if (mode === "open") {
    const why = whyNotPublic(target);
    return why === undefined ? undefined : `${name} is ${why} (${flagFor(target)} allows it)`;
  }
  return `${name} is not on the allowlist (${flagFor(target)} allows it)`;
}

/** True when a host is refused only because no pattern allows it, and it is public as far as its name tells. */
export function isUnlisted(target: HostPort, rules: EgressRules): boolean {
  const { host } = target;
  if (rules.mode !== "allowlist" || nameRefusal(target, rules) === undefined) return false;
  if (rules.deny.some((pattern) => denies(pattern, target)) || whyNotPublic(target) !== undefined) return false;
  return host.kind === "name" || addressRefusal(target, host.text, rules) === undefined;
}

/** Names of hosts of a network's own. An upstream proxy may resolve such a name to an address that we never see. */
const privateNames = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;

function whyNotPublic({ host }: HostPort): string | undefined {
  if (host.kind === "address") return specialUse(host.address);
  const isPrivate = privateNames.test(host.text) || !host.text.includes(".");
  return isPrivate ? "a name of this machine or its network" : undefined;
}

/** Judges an address of a host whose name is allowed. */
export function addressRefusal(target: HostPort, text: string, { mode, allow, deny }: EgressRules): string | undefined {
  const address = parseIpAddress(text);
  if (address === undefined) return `${target.host.text} resolves to ${quoted(text)}, which is not an IP address`;
  const isAddress = target.host.kind === "address";
  const found: HostPort = { host: { kind: "address", text: formatIpAddress(address), address }, port: target.port };
  const what = isAddress
    ? shownTarget(found)
    : `${shownTarget(target)} resolves to ${bracketed(found.host.text)}, which`;
  const denial = deny.find((pattern) => denies(pattern, found));
  if (denial !== undefined) return deniedBy(what, denial.text);
  if (mode === "none") return networkOff(target);

  const use = specialUse(address) ?? machineUse(address);
  if (use === undefined || allow.some((pattern) => allows(pattern, found))) return undefined;
  return `${what} is ${use} (${flagFor(found)} allows it)`;
}

function deniedBy(what: string, pattern: string): string {
  return `${what} is denied by the pattern ${quoted(pattern)} (--deny-net or egress.deny, which no --allow-net overrules)`;
}

function networkOff(target: HostPort): string {
  return `${shownTarget(target)} cannot be reached with --net none (--net allowlist ${flagFor(target)} allows it)`;
}

/** The pattern for a target: its host, and its port unless that is one of the web's. */
function shownTarget(target: HostPort): string {
  return webPorts.includes(target.port) ? bracketed(target.host.text) : authorityOf(target);
}

/** In quotes where a shell would expand the brackets. */
function flagFor(target: HostPort): string {
  const pattern = shownTarget(target);
  return `--allow-net ${pattern.startsWith("[") ? `'${pattern}'` : pattern}`;
}
