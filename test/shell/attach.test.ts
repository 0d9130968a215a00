import { expect, test } from "bun:test";
import { landlockAbi } from "../../lib/sandbox/abi.ts";
import type { Backend } from "../../lib/sandbox/backend.ts";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { openBwrapTier } from "../../lib/sandbox/tiers/bwrap/tier.ts";
import { openLandlockTier } from "../../lib/sandbox/tiers/landlock/tier.ts";
import { openNamespacesTier } from "../../lib/sandbox/tiers/namespaces/tier.ts";
import type { TierOptions } from "../../lib/sandbox/tiers/tier.ts";
import { createShell } from "../../lib/shell/spawn.ts";
import { hereArch } from "../support/assembled.ts";
import { makePlace } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";
import { type TierName, whyMissing } from "../support/tiers.ts";

const tiers: Record<Exclude<TierName, "none">, (policy: Policy, options: TierOptions) => Promise<Backend>> = {
  namespaces: (policy, options) => openNamespacesTier(policy, options, { processes: true }),
  bwrap: openBwrapTier,
  landlock: openLandlockTier,
};

for (const [name, open] of Object.entries(tiers)) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name as TierName, somewhere);

  test.skipIf(missing !== undefined)(
    `a signal that comes before the command has begun reaches it: ${name}`,
    async () => {
      await using place = makePlace({}, "/var/tmp");
      const policy = policyOf(place);
      const searchPath = place.env.PATH;
      const options: TierOptions = { arch: hereArch, abi: landlockAbi(), ports: [], searchPath, onRefusal: () => {} };
      using backend = await open(policy, options);
      const { forward, ended } = createShell({ backend, policy, env: place.env }).attach([
        "sh",
        "-c",
        "sleep 2; exit 3",
      ]);
      // The program that confines the command has only just been started.
      forward("SIGTERM");
      expect(await ended).toMatchObject({ exitCode: 143 });
    },
  );
}
