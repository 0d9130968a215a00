import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makePlace, type Place } from "../../support/place.ts";
import { openTier, type TierName, users, whyMissing } from "../../support/tiers.ts";

/** What one command puts in the place of a directory that koda will make writable for the next. */
const withMounts: readonly TierName[] = ["namespaces", "bwrap"];

for (const { name, user } of withMounts.flatMap((name) => users.map((user) => ({ name, user })))) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user });
  describe.skipIf(missing !== undefined)(`${name}, as ${user}${missing === undefined ? "" : ` (${missing})`}`, () => {
    test("a link in the place of a root that lies in another leads nobody out", async () => {
      await using place = makePlace({ "a/sub/file": "" }, "/var/tmp");
      const outside = outsideOf(place, "sub");
      await using tier = await openTier(name, place, { user, grants: { write: [join(place.project, "a/sub")] } });
      expect(await tier.run("echo x > a/sub/file && mv a b && ln -s ../outside a")).toMatchObject({ exit: 0 });
      await tier.run("echo x > a/sub/escaped; echo x > ../outside/sub/escaped");
      expect(readdirSync(join(outside, "sub"))).toEqual([]);
    });

    test("a link in the place of the directory for temporary files leads nobody out", async () => {
      await using place = makePlace({}, "/var/tmp");
      const [temporary, outside] = [place.env.TMPDIR ?? "", outsideOf(place, "directory")];
      await using tier = await openTier(name, place, { user, grants: { write: [temporary] } });
      await tier.run(`cd ${temporary} && for d in koda-*; do mv $d away; ln -s ../outside $d; done`);
      await tier.run("echo x > /tmp/escaped");
      expect(readdirSync(outside)).toEqual(["directory"]);
    });

    test("a link in the place of what would lead to something hidden leads nobody out", async () => {
      await using place = makePlace({}, "/var/tmp");
      const outside = outsideOf(place, "gh");
      // Nothing is there yet, so nothing needs to be held.
      await using tier = await openTier(name, place, { user, grants: { hide: [join(place.project, "deep/gh")] } });
      expect(await tier.run("ln -s ../outside deep")).toMatchObject({ exit: 0 });
      await tier.run("echo x > deep/escaped; echo x > ../outside/escaped; echo x > deep/gh/escaped");
      expect(readdirSync(outside)).toEqual(["gh"]);
      expect(readdirSync(join(outside, "gh"))).toEqual([]);
    });

    test("nothing runs where a directory that it may write in has become a link", async () => {
      await using place = makePlace({}, "/var/tmp");
      await using tier = await openTier(name, place, { user });
      renameSync(place.project, `${place.project}-moved`);
      symlinkSync(`${place.project}-moved`, place.project);
      await expect(tier.run("true")).rejects.toThrow("has become a symlink");
      expect(readdirSync(`${place.project}-moved`), "no stand-in is left").toEqual([]);
    });
  });
}

/** A directory beside the project, with one in it. */
function outsideOf({ project }: Place, name: string): string {
  const outside = join(project, "../outside");
  mkdirSync(join(outside, name), { recursive: true });
  return outside;
}
