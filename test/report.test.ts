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

const program = `import { runSuite } from ${JSON.stringify(join(import.meta.dir, "support/suite.ts"))};
  process.exit(await runSuite([]));`;

/** The exit code of a run of these tests, and the last lines that it prints. */
async function runOf(tests: Record<string, string>): Promise<{ exit: number; lines: string[] }> {
  await using place = makePlace({ "package.json": "{}", ...tests });
  const child = Bun.spawnSync([process.execPath, "-e", program], { cwd: place.project, env: place.env });
  return { exit: child.exitCode, lines: child.stdout.toString().trimEnd().split("\n") };
}

test("a test that fails and then passes alone fails the run, and is named and counted", async () => {
  const flaky = `
    import { expect, test } from "bun:test";
    import { existsSync, writeFileSync } from "node:fs";
    const isSecond = existsSync("first");
    writeFileSync("first", "");
    test("sometimes", () => expect(isSecond).toBe(true));
    test("never", () => expect(1).toBe(2));`;
  const { exit, lines } = await runOf({
    "test/flaky.test.ts": flaky,
    "test/whole.test.ts": files["test/whole.test.ts"],
  });
  expect(exit).toBe(1);
  expect(lines.slice(-4)).toEqual([
    "test: 1 passed, 2 failed",
    "flaky: failed beside the others and passed alone: test/flaky.test.ts: sometimes",
    "flaky: 1 (limit: 0)",
    "1 passed, 2 failed",
  ]);
});

test("a run passes when all its tests do, and one that breaks off or has none fails", async () => {
  const whole = files["test/whole.test.ts"];
  expect(await runOf({ "test/whole.test.ts": whole })).toMatchObject({ exit: 0 });
  const broken = 'import "./missing.ts";';
  for (const tests of [
    {},
    { "test/x.test.ts": "process.exit(0);" },
    { "test/w.test.ts": whole, "test/x.test.ts": broken },
  ])
    expect(await runOf(tests)).toMatchObject({ exit: 1 });
});
