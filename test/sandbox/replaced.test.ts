import { describe, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePlace } from "../support/place.ts";
import { everyUser, openTier, whyMissing } from "../support/tiers.ts";

const names = [".netrc", ".vault-token", ".ssh/id", "code/readme"] as const;

/** Another file by the same name, as editors and `npm login` write theirs. */
function replace(path: string): void {
  writeFileSync(`${path}.new`, "replaced\n", { mode: 0o644 });
  renameSync(`${path}.new`, path);
}

for (const name of ["namespaces", "bwrap", "landlock", "none"] as const)
  for (const user of everyUser) {
    await using place = makePlace({}, "/var/tmp");
    const missing = name === "none" && user === "guest" ? "root is root" : await whyMissing(name, place, { user });
    describe.skipIf(missing !== undefined)(`${name}, as ${user}:`, () => {
      test("a hidden file that is replaced or first appears stays hidden from a command that runs", async () => {
        await using place = makePlace({}, "/var/tmp");
        for (const path of [".netrc", ".ssh/id", "code/readme"]) place.write(join("../home", path), "as it was\n");
        await using tier = await openTier(name, place, { user });
        const running = tier.start(
          `echo ready; until [ -e go ]; do sleep 0.01; done; cd ${place.home}; for f in ${names.join(" ")}; do cat $f; done`,
        );
        await running.prints(/ready/);
        for (const path of [".netrc", ".vault-token", "code/readme"]) replace(join(place.home, path));
        renameSync(join(place.home, ".ssh"), join(place.home, ".ssh.old"));
        place.write("../home/.ssh/id", "replaced\n");
        place.write("go", "");
        const { stdout } = await running.ended;
        expect(stdout).toBe(`ready\n${"replaced\n".repeat(name === "none" ? names.length : 1)}`);
        // Each command sees what lies there when it begins.
        const { stdout: later } = await tier.run(`cat ${place.home}/code/readme ${place.home}/.netrc`);
        expect(later).toBe("replaced\n".repeat(name === "none" ? 2 : 1));
      });
    });
  }
