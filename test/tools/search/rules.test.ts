import { expect, test } from "bun:test";
import { rulesFrom } from "../../../lib/tools/search/rules.ts";
import { makePlace } from "../../support/place.ts";

test("a file of rules that nobody would have written by hand holds none", async () => {
  await using place = makePlace({ ".gitignore": "dist\n# why\n\nlogs/\n" });
  const patternsNow = () => rulesFrom(place.project, [".gitignore"]).patterns;
  expect(patternsNow()).toHaveLength(2);

  const run = (script: string) => expect(Bun.spawnSync(["sh", "-c", script], { cwd: place.project }).exitCode).toBe(0);
  run("yes dist | head -c 2M >.gitignore");
  expect(patternsNow()).toEqual([]);
  run("rm .gitignore && mkfifo .gitignore");
  expect(patternsNow()).toEqual([]);
  run("rm .gitignore && ln -s /dev/zero .gitignore");
  expect(patternsNow()).toEqual([]);
});
