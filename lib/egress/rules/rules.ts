import type { EgressConfig, Network } from "../../config/config.ts";
import { KodaError } from "../../errors.ts";
import { developmentHosts, gitHosts } from "./allowlist.ts";
import { parsePattern, type Pattern } from "./pattern.ts";

/**
 * `none` reaches nothing, `allowlist` what a pattern allows, `open` every public host. In each of them a denial beats
 * an allowance, and an address that is not public needs a pattern of its own.
 */
export type EgressRules = {
  readonly mode: Network;
  readonly allow: readonly Pattern[];
  readonly deny: readonly Pattern[];
};

/** Makes rules of patterns. In the mode `allowlist` the hosts of development are allowed beside the given ones. */
export function parseRules({ mode, allow, deny }: EgressConfig): EgressRules {
  const given = allow.map((text) => patternOf(text, "allow"));
  return {
    mode,
    allow: mode === "allowlist" ? [...developmentAllowlist(), ...given] : given,
    deny: deny.map((text) => patternOf(text, "deny")),
  };
}

function patternOf(text: string, list: "allow" | "deny"): Pattern {
  const pattern = parsePattern(text, { wide: list === "deny" });
  if (!("fault" in pattern)) return pattern;
  throw new KodaError(
    "usage",
    `--${list}-net or egress.${list}: ${pattern.fault}. Expected a host (example.com), one label below a host ` +
      "(*.example.com) or an address (10.1.2.3, [::1]), each with a port (example.com:8080) or without.",
  );
}

let development: readonly Pattern[] | undefined;

/** Parsed on first use. */
function developmentAllowlist(): readonly Pattern[] {
  development ??= [
    ...developmentHosts.map((text) => patternOf(text, "allow")),
    ...gitHosts.map((text): Pattern => ({ ...patternOf(text, "allow"), git: true })),
  ];
  return development;
}
