import { realpathSync } from "node:fs";
import { landlockAbi } from "../../lib/sandbox/abi.ts";
import { type Backend, unconfined } from "../../lib/sandbox/backend.ts";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { openBwrapTier } from "../../lib/sandbox/tiers/bwrap/tier.ts";
import { openLandlockTier } from "../../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../../lib/sandbox/tiers/tier.ts";
import { hereArch } from "./assembled.ts";
import { makePlace, type Place } from "./place.ts";
import { policyOf } from "./policy.ts";
import { type TierName, whyMissing } from "./tiers.ts";

/** The strongest tier has a form for machines where no /proc can be mounted. */
export type HeldTier = TierName | "namespaces, without one of processes";

const openers: Record<HeldTier, (policy: Policy, options: TierOptions) => Promise<Backend>> = {
  namespaces: (policy, options) => openNamespacesTier(policy, options, { processes: true }),
  "namespaces, without one of processes": (policy, options) =>
    openNamespacesTier(policy, options, { processes: false }),
  bwrap: openBwrapTier,
  landlock: openLandlockTier,
  none: async () => unconfined,
};

/** A tier that this very process holds, for what has to be looked at from inside koda; `tiers.ts` opens them for any user. */
export async function openBackend(
  tier: HeldTier,
  place: Pick<Place, "home" | "project" | "env">,
  rules: Partial<Policy> = {},
): Promise<{ backend: Backend; policy: Policy }> {
  // Commands can run Bun wherever it is installed, as they can run koda.
  const policy = policyOf(place, { show: [realpathSync(process.execPath)], ...rules });
  const searchPath = place.env.PATH;
  const options: TierOptions = { arch: hereArch, abi: landlockAbi(), ports: [], searchPath, onRefusal: () => {} };
  return { backend: await openers[tier](policy, options), policy };
}

/** The tiers of this machine by their names, and those that it does not have, with the reasons. */
export async function findTiers(): Promise<readonly (readonly [tier: HeldTier, missing: string | undefined])[]> {
  await using place = makePlace();
  const names = Object.keys(openers) as HeldTier[];
  return await Promise.all(names.map(async (name) => [name, await whyMissing(nearest(name), place)] as const));
}

function nearest(tier: HeldTier): TierName {
  return tier === "namespaces, without one of processes" ? "namespaces" : tier;
}
