import { parseAuthority } from "../../lib/egress/rules/host.ts";
import { resolveChecked, type Resolution } from "../../lib/egress/rules/resolve.ts";
import type { EgressConfig } from "../../lib/config/config.ts";
import { parseRules } from "../../lib/egress/rules/rules.ts";

/** A host of the public Internet, as far as its address goes. */
export const publicAddress = "93.184.216.34";

export type Answers = (name: string) => readonly string[];

/** Rules with what a test says of them; the allowlist and nothing else where it says nothing. */
export function rulesOf(given: Partial<EgressConfig> = {}) {
  return parseRules({ mode: "allowlist", allow: [], deny: [], ...given });
}

/** What a proxy does with `host:port`: where it would connect to, or why it does not. */
export async function reach(
  authority: string,
  rules: Partial<EgressConfig> = {},
  answers: Answers = () => [publicAddress],
): Promise<Resolution> {
  const target = parseAuthority(authority);
  if ("fault" in target) return { refused: target.fault, kind: "rule" };
  const signal = new AbortController().signal;
  return resolveChecked(target, rulesOf(rules), { resolver: async (name) => answers(name), signal });
}

/** Of these authorities, those that would be connected to. */
export async function reached(
  authorities: readonly string[],
  rules: Partial<EgressConfig> = {},
  answers?: Answers,
): Promise<string[]> {
  const results = await Promise.all(authorities.map((authority) => reach(authority, rules, answers)));
  return authorities.filter((_, index) => "addresses" in (results[index] ?? {}));
}

/** Why it is refused; a connection instead is a failure that names its addresses. */
export async function refusal(
  authority: string,
  rules: Partial<EgressConfig> = {},
  answers?: Answers,
): Promise<string> {
  const result = await reach(authority, rules, answers);
  return "refused" in result ? result.refused : `connected to ${result.addresses.join(", ")}`;
}
