import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRoot } from "../support/nobody.ts";
import { makePlace, type Place } from "../support/place.ts";
import { host, openTier, type OpenTier, type TierName, whyMissing } from "../support/tiers.ts";

const tiers: readonly TierName[] = ["namespaces", "bwrap", "landlock"];

/** Neither root nor the owner of the project; nobody's account. */
const third = 41_235;
const group = 41_236;

for (const name of isRoot ? tiers : []) {
  await using somewhere = makePlace();
  const missing = await whyMissing(name, somewhere, { user: "guest" });
  describe.skipIf(missing !== undefined)(`${name}, as root in a project of another user`, () => {
    test("commands write as they would without a sandbox, and what they make belongs to root", async () => {
      await using place = makePlace({ "src/old": "old\n", "src/gone": "", "tool.sh": "#!/bin/sh\n" }, "/var/tmp");
      await using tier = await openIn(place, name);
      const script = "echo new >> src/old && echo x > made && mkdir -p src/in && echo x > src/in/made && rm src/gone";
      expect(await tier.run(script)).toMatchObject({ exit: 0, stderr: "" });
      const owners = ["src/old", "made", "src/in", "src/in/made"].map((path) => ownersOf(place, path));
      expect(owners).toEqual([`${host}:${host}`, "0:0", "0:0", "0:0"]);
    });

    test("what they make in a directory that hands its group on belongs to that group", async () => {
      await using place = makePlace({ "shared/file": "" }, "/var/tmp");
      await using tier = await openIn(place, name, (at) => {
        chownSync(at("shared"), host, group);
        chmodSync(at("shared"), 0o2755);
      });
      expect(await tier.run("echo x > shared/made")).toMatchObject({ exit: 0, stderr: "" });
      expect(ownersOf(place, "shared/made")).toBe(`0:${group}`);
    });

    test("git says what it says without a sandbox", async () => {
      await using place = makePlace({}, "/var/tmp");
      Bun.spawnSync(["git", "init", "-q", "."], { cwd: place.project, env: place.env });
      await using tier = await openIn(place, name);
      const { exit, stderr } = await tier.run("git status");
      const without = Bun.spawnSync(["git", "status"], { cwd: place.project, env: place.env });
      expect({ exit, stderr }).toEqual({ exit: without.exitCode, stderr: without.stderr.toString() });
      expect(stderr).toContain("dubious ownership");
    });

    test("what is hidden cannot be opened, and nothing else can be written", async () => {
      await using place = makePlace({}, "/var/tmp");
      mkdirSync(join(place.home, ".ssh"));
      writeFileSync(join(place.home, ".ssh/id"), "secret");
      await using tier = await openIn(place, name);
      const ran = await tier.run(`cat ${place.home}/.ssh/id; echo x > ${place.home}/made`);
      const refused = /^.*Permission denied\n.*(Permission denied|Read-only file system)\n$/;
      expect(ran).toMatchObject({ stdout: "", stderr: expect.stringMatching(refused) });
      // Landlock shows names everywhere.
      if (name !== "landlock") expect(await tier.run(`ls ${place.home}/.ssh`)).toMatchObject({ stdout: "", exit: 2 });
    });

    test("modes can be changed in the project, where only that is opened by it", async () => {
      await using place = makePlace({ "tool.sh": "#!/bin/sh\n" }, "/var/tmp");
      const outside = outsideOf(place);
      await using tier = await openIn(place, name);
      const { stderr } = await tier.run(`chmod 755 tool.sh; chmod 777 ${outside}; chown 0 ${outside}`);
      const mode = (lstatSync(join(place.project, "tool.sh")).mode & 0o777).toString(8);
      expect(mode).toBe(name === "landlock" ? "644" : "755");
      expect(stderr).toMatch(name === "landlock" ? /^(.*not permitted\n){3}$/ : /^(.*Read-only file system\n){2}$/);
      if (name === "landlock") expect(tier.backend.notes.join("\n")).toContain("cannot change the modes of those");
    });

    test("files of a third user stay closed, or the notes say that they do not", async () => {
      await using place = makePlace({}, "/var/tmp");
      const outside = outsideOf(place);
      chownSync(outside, third, third);
      await using tier = await openIn(place, name);
      const { stdout, stderr } = await tier.run(`cat ${outside}`);
      if (name !== "landlock")
        expect({ stdout, stderr }).toMatchObject({ stdout: "", stderr: expect.stringContaining("Permission denied") });
      else expect(tier.backend.notes.join("\n")).toContain("commands can read files that only other users may read");
    });
  });
}

async function openIn(
  place: Place,
  name: TierName,
  prepare: (at: (path: string) => string) => void = () => {},
): Promise<OpenTier> {
  const tier = await openTier(name, place, { user: "guest" });
  prepare((path) => join(place.project, path));
  return tier;
}

/** A file that is none of the project's, and that only the project's owner may read. */
function outsideOf(place: Place): string {
  chmodSync(dirname(place.project), 0o755);
  const path = join(dirname(place.project), "outside");
  writeFileSync(path, "private", { mode: 0o600 });
  chownSync(path, host, host);
  return path;
}

function ownersOf(place: Place, path: string): string {
  const { uid, gid } = lstatSync(join(place.project, path));
  return `${uid}:${gid}`;
}
