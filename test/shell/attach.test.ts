import { expect, test } from "bun:test";
import { Shell } from "../../lib/shell/shell.ts";
import { findTiers, openBackend } from "../support/backends.ts";
import { makePlace } from "../support/place.ts";

for (const [tier, missing] of await findTiers()) {
  if (tier === "none") continue;
  test.skipIf(missing !== undefined)(
    `a signal that comes before the command has begun reaches it: ${tier}`,
    async () => {
      await using place = makePlace({}, "/var/tmp");
      const { backend, policy } = await openBackend(tier, place);
      using _ = backend;
      const { forward, ended } = new Shell({ backend, policy, env: place.env }).attach(["sh", "-c", "sleep 2; exit 3"]);
      // The program that confines the command has only just been started.
      forward("SIGTERM");
      expect(await ended).toMatchObject({ exitCode: 143 });
    },
  );
}
