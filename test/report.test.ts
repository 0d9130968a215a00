import { expect, test } from "bun:test";
import { join } from "node:path";
import { makePlace } from "./support/place.ts";
import { casesIn, linesByFolder, linesOfSkipped } from "./support/report.ts";

const files = {
  "package.json": "{}",
  "test/whole.test.ts": `
    import { test } from "bun:test";
    test("good", () => {});`,
  "test/cli/mixed.test.ts": `
    import { describe, expect, test } from "bun:test";
    test("good", () => {});
    test("bad & <b>", () => expect(1).toBe(2));
    test.skip("alone (no 'git')", () => {});
    describe("as root (no bwrap)", () => { test.skip("one", () => {}); test.skip("two", () => {}); });`,
  "test/cli/deep/dies.test.ts": `
    import { test } from "bun:test";
    test("never ends", () => process.kill(process.pid, "SIGKILL"));`,
};

test("a report says of each test what became of it, and of a file whose process died that it failed", async () => {
  await using place = makePlace(files);
  const report = join(place.home, "report.xml");
  const flags = ["--parallel", "--only-failures", "--reporter=junit", `--reporter-outfile=${report}`];
  const ran = Bun.spawnSync([process.execPath, "test", ...flags], { cwd: place.project, env: place.env });
  expect(ran.stderr.toString()).toContain("(fail) bad & <b>");
  expect(ran.stderr.toString()).not.toContain("good");
  const cases = casesIn(await Bun.file(report).text());
  expect(
    cases
      .filter(({ outcome }) => outcome === "failed")
      .map(({ file, name }) => `${file}: ${name}`)
      .sort(),
  ).toEqual(["test/cli/deep/dies.test.ts: (worker crashed)", "test/cli/mixed.test.ts: bad & <b>"]);
  expect(linesByFolder(cases)).toEqual(["test: 1 passed, 0 failed", "test/cli: 1 passed, 2 failed, 3 skipped"]);
  expect(linesOfSkipped(cases)).toEqual([
    "skipped: test/cli/mixed.test.ts: alone (no 'git')",
    "skipped: test/cli/mixed.test.ts: as root (no bwrap) > 2 tests",
  ]);
});
