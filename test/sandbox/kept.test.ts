import { describe, expect, test } from "bun:test";
import { lstatSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makePlace, type Place } from "../support/place.ts";
import { everyUser, NoSuchTier, openTier, whyMissing } from "../support/tiers.ts";

/** Every way to put something else there that leaves the rest of the project as it is. */
const attack = `
echo evil >> tools/koda; rm -f tools/koda; mv tools away; mkdir -p tools; echo evil > tools/koda
rm -f bin/koda; mv bin away; mkdir -p bin; ln -s ../evil bin/koda
echo evil >> git/config; mv git away; mkdir -p git; echo evil > git/config
echo evil >> .hg/hgrc; mv .hg away; mkdir -p .hg; echo evil > .hg/hgrc
echo other > tools/other`;

async function project(): Promise<Place> {
  const files = ["tools/koda", "tools/other", "bin/other", "git/config", ".hg/hgrc"];
  const place = makePlace(Object.fromEntries(files.map((path) => [path, "the user's\n"])), "/var/tmp");
  symlinkSync("../tools/koda", join(place.project, "bin/koda"));
  return place;
}

function contents({ project }: Place): string[] {
  const files = ["tools/koda", "bin/koda", "git/config", ".hg/hgrc"].map((path) => join(project, path));
  return files.map((path) => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, "utf8")));
}

function grantsIn({ project }: Place) {
  const at = (path: string) => join(project, path);
  return { keep: ["tools/koda", "bin/koda", "git/config"].map(at), gitPlaces: [at(".hg")] };
}

for (const name of ["namespaces", "bwrap", "landlock", "none"] as const)
  for (const user of everyUser) {
    await using somewhere = makePlace();
    const missing = name === "none" && user === "guest" ? "root is root" : await whyMissing(name, somewhere, { user });
    describe.skipIf(missing !== undefined)(`${name}, as ${user}:`, () => {
      test("koda's own program and what git obeys cannot be replaced", async () => {
        await using place = await project();
        if (name === "landlock") {
          const opening = openTier(name, place, { user, grants: grantsIn(place) });
          await expect(opening).rejects.toThrow(NoSuchTier);
          await expect(opening).rejects.toThrow("lies where commands may write");
          return;
        }
        await using tier = await openTier(name, place, { user, grants: grantsIn(place) });
        if (name === "bwrap")
          expect(tier.backend.notes.join("\n")).toContain("that is a symlink is protected only where");
        await tier.run(attack);
        // Bubblewrap mounts nothing on a symlink.
        const link = name === "bwrap" ? "../evil" : "../tools/koda";
        const kept = ["the user's\n", link, "the user's\n", "the user's\n"];
        const replaced = ["evil\n", "../evil", "evil\n", "evil\n"];
        expect(contents(place)).toEqual(name === "none" ? replaced : kept);
        expect(readFileSync(join(place.project, "tools/other"), "utf8")).toBe("other\n");
      });
    });
  }
