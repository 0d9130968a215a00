import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePlace, type Place } from "../../support/place.ts";
import { openTier, type OpenTier, type TierName, type User, users, whyMissing } from "../../support/tiers.ts";

const withMounts: readonly TierName[] = ["namespaces", "bwrap"];

/** Of these the hidden ones, and git's configuration, lie deeper in the home than the home itself. */
const files: Record<string, string> = {
  ".config/gh/hosts.yml": "secret\n",
  ".config/git/config": "the user's\n",
  ".config/other": "anything\n",
  ".local/share/koda/koda.db": "secret\n",
  ".ssh/id": "secret\n",
};

for (const { name, user } of withMounts.flatMap((name) => users.map((user) => ({ name, user })))) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user });
  describe.skipIf(missing !== undefined)(`${name}, as ${user}${missing === undefined ? "" : ` (${missing})`}`, () => {
    test("in a home that is the project, what is hidden does not come to light by another name", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openAtHome(name, { place, user });
      const moved = await tier.run("mv .config moved; mv .local moved; mv .local/share moved; mv .ssh moved; ls moved");
      expect(moved.stderr.match(/^mv: .*(Device or resource busy|Permission denied)$/gm)).toHaveLength(4);
      const found = await tier.run("cat */*/* .*/*/* .*/* */*/*/*; ln .config/gh/hosts.yml link");
      expect(found.stdout).not.toContain("secret");
    });

    test("in a home that is the project, git's configuration stays the user's", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openAtHome(name, { place, user });
      await tier.run("mv .config moved; mkdir -p .config/git; echo evil > .config/git/config");
      expect(readFileSync(join(place.project, ".config/git/config"), "utf8")).toBe("the user's\n");
    });

    test("in a home that is the project, everything else can be worked on", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openAtHome(name, { place, user });
      const work =
        "mkdir -p .config/new/deep && echo x > .config/new/deep/f && mv .config/other other && mv .config/new .config/newer && rm -r .config/newer && cat other";
      expect(await tier.run(work)).toMatchObject({ exit: 0, stdout: "anything\n", stderr: "" });
    });
  });
}

async function openAtHome(name: TierName, { place, user }: { place: Place; user: User }): Promise<OpenTier> {
  const home = place.project;
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), content);
  }
  return openTier(name, place, { user, grants: atHome(place) });
}

/** The project is the home. */
function atHome({ project: home }: Place) {
  return {
    home,
    accountHome: home,
    dataDirectory: join(home, ".local/share/koda"),
    configDirectory: join(home, ".config/koda"),
  };
}
