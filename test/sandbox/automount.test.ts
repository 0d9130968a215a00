import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { gaps } from "../../lib/sandbox/tiers/landlock/notes.ts";
import { besideAutomounter } from "../support/automount.ts";
import { isRoot } from "../support/nobody.ts";
import { everyUser, users } from "../support/tiers.ts";

const program = join(import.meta.dir, "../support/automount-program.ts");
const isKnown = readFileSync("/proc/filesystems", "latin1").includes("\tautofs\n");

test.skipIf(!isRoot || !isKnown)(
  "no name is looked up in a directory whose daemon would ask the network for it",
  async () => {
    const directory = mkdtempSync("/var/tmp/koda-automount-");
    try {
      const lines = (await besideAutomounter(directory, [process.execPath, program, directory])).trim().split("\n");
      const tiers = ["namespaces", "bwrap", "landlock"].flatMap((tier) => everyUser.map((user) => `${tier} ${user}`));
      const all = [...tiers, ...users.map((user) => `none ${user}`)];
      expect(lines.filter((line) => !line.startsWith("asked")).sort()).toEqual(
        all.map((each) => `${each}: mounted`).sort(),
      );
      // Landlock is asked only when the name has been looked up.
      const asked = lines.flatMap((line) => /^asked for DATA\.(.*)$/.exec(line)?.[1] ?? []);
      expect(asked.filter((name) => !name.startsWith("landlock")).sort()).toEqual(
        users.map((user) => `none.${user}`).sort(),
      );
      expect(gaps.join("\n")).toContain("automounter");
    } finally {
      rmdirSync(directory);
    }
  },
);
