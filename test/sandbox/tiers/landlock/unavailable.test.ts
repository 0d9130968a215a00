import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { reachOf } from "../../../../lib/sandbox/tiers/landlock/reach.ts";
import { makePlace, type Place } from "../../../support/place.ts";
import { policyOf } from "../../../support/policy.ts";
import { type Rules, openTier, users, whyMissing } from "../../../support/tiers.ts";

async function whyNot(place: Place, rules: Rules): Promise<string> {
  return (await whyMissing("landlock", place, rules)) ?? "it can be had";
}

describe.each(users)("the Landlock tier, as %s,", (user) => {
  test.each([
    [0, /Landlock is switched off|this kernel has no Landlock/],
    [5, /version 6 is needed, this kernel has version 5/],
  ])("is not there with version %i of Landlock", async (abi, reason) => {
    await using place = makePlace();
    expect(await whyNot(place, { user, circumstances: { abi } })).toMatch(reason);
  });

  test("is not there where something hidden lies in the project", async () => {
    await using place = makePlace();
    mkdirSync(join(place.home, ".ssh"));
    const reason = await whyNot(place, { user, grants: { root: place.home } });
    expect(reason).toContain(`"${place.home}/.ssh" is hidden and lies where commands may write`);
  });

  test("is there in a home that has nothing to hide yet", async () => {
    await using place = makePlace();
    await using tier = await openTier("landlock", place, { user, grants: { root: place.home } });
    expect(await tier.run("echo ok > file && cat file")).toMatchObject({ exit: 0, stdout: "ok\n" });
  });

  test("says what it cannot hold, and that others have to guard the project", async () => {
    await using place = makePlace();
    await using tier = await openTier("landlock", place, { user });
    expect(tier.backend).toMatchObject({
      name: "landlock",
      filesystem: "confined",
      network: "none",
      ownProcesses: false,
      guards: true,
    });
    expect(tier.policy.privateTmp).toBe(false);
    expect(tier.backend.notes.join("\n")).toMatch(/\.git, \.koda .* are not held/);
  });
});

test("a command gets no file system of the kernel to write, whatever may be written around it", async () => {
  await using place = makePlace();
  const policy = (write: string) => policyOf(place, { write: [write, place.project] });
  for (const place of ["/proc", "/sys", "/"])
    expect(() => reachOf(policy(place))).toThrow(/a file system of the kernel is mounted at "\/(proc|sys|dev)/);
  expect(reachOf(policy("/usr")).writable).toEqual(["/usr", place.project]);
});
