import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findTiers } from "../../support/backends.ts";
import { evaluateAsNobody, nobody } from "../../support/nobody.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { roundsUntilFollowed } from "../../support/search.ts";
import { everyUser, host, type User } from "../../support/tiers.ts";

const rounds = 25;
const roundsOfControl = 400;

/** The home has a key in it that the project's file is linked to now and then. */
function placeFor(user: User): Place & { secret: string } {
  const place = makePlace({ x: "needle\n" });
  const secret = join(place.home, ".ssh/id");
  mkdirSync(dirname(secret));
  writeFileSync(secret, "needle: secret\n");
  const [owner, given] = user === "nobody" ? [nobody, dirname(place.project)] : [host, place.project];
  if (user !== "root") Bun.spawnSync(["chown", "-R", `${owner}:${owner}`, given]);
  return { ...place, secret };
}

async function followed(user: User, ...asked: Parameters<typeof roundsUntilFollowed>): Promise<unknown> {
  if (user !== "nobody") return roundsUntilFollowed(...asked);
  const script = `
    const { roundsUntilFollowed } = await import(${JSON.stringify(import.meta.resolve("../../support/search.ts"))});
    const answer = roundsUntilFollowed(...input);`;
  return await evaluateAsNobody(script, asked);
}

for (const [tier, missing] of await findTiers())
  describe.skipIf(missing !== undefined).each(everyUser)(`in ${tier}, as %s`, (user) => {
    test("Grep shows nothing of a hidden file that a searched one is linked to meanwhile", async () => {
      await using place = placeFor(user);
      const hide = [dirname(place.secret)];
      const asked = { rules: { hide }, secret: place.secret, most: rounds };
      expect(await followed(user, tier, place, asked)).toBe(0);
    });

    // Without a sandbox the files are held instead.
    test.skipIf(tier === "none")("and shows it where it is not hidden", async () => {
      await using place = placeFor(user);
      const asked = { rules: { show: [dirname(place.secret)] }, secret: place.secret, most: roundsOfControl };
      expect(await followed(user, tier, place, asked)).toBeGreaterThan(0);
    });
  });
