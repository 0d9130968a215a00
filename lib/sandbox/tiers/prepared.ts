import { compose } from "../policy/compose.ts";
import type { Policy } from "../policy/policy.ts";
import type { ConnectRules } from "../supervisor/rules.ts";
import type { Tier } from "./tier.ts";

/** A policy with what is the same for all of its commands. */
export type PreparedPolicy<View> = { policy: Policy; look: () => View; rules: ConnectRules };

type Preparing<View> = Pick<Tier<View>, "rights" | "viewer" | "connectRules">;

/** The workspace's policy, and narrower ones for as long as their callers keep them. */
export class PreparedPolicies<View> {
  readonly #tier: Preparing<View>;
  readonly #known = new WeakMap<Policy, PreparedPolicy<View>>();
  readonly own: PreparedPolicy<View>;

  constructor(tier: Preparing<View>, given: Policy) {
    const { owners } = tier.rights;
    this.#tier = tier;
    this.own = this.#prepare(owners === undefined ? given : { ...given, owners });
    for (const policy of [given, this.own.policy]) this.#known.set(policy, this.own);
  }

  /** Of a policy that is not the workspace's only what both allow counts. */
  for(given: Policy | undefined): PreparedPolicy<View> {
    if (given === undefined) return this.own;
    const known = this.#known.get(given);
    if (known !== undefined) return known;
    const composed = compose(this.own.policy, given);
    // The proxies go by the workspace's rules, so a stricter network is none.
    const network = composed.network === this.own.policy.network ? composed.network : "none";
    const made = this.#prepare({ ...composed, network });
    this.#known.set(given, made);
    return made;
  }

  #prepare(policy: Policy): PreparedPolicy<View> {
    return { policy, look: this.#tier.viewer(policy), rules: this.#tier.connectRules(policy) };
  }
}
