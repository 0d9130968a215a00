/**
 * The one test command: builds the binary, runs every test, and closes with `N passed, N failed`. A run that executed
 * no test has failed, whatever its exit code: `process.exit(0)` in code under test ends `bun test` without a word.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackages } from "./support/packages.ts";

const bun = process.execPath;
const chosen = process.argv.slice(2);

installPackages();
const build = Bun.spawnSync([bun, "build.ts"], { stdout: "inherit", stderr: "inherit" });
if (build.exitCode !== 0) finish(0, 1);

const scratch = mkdtempSync(join(tmpdir(), "koda-test-run-"));
const report = join(scratch, "junit.xml");
const tests = Bun.spawnSync(
  [bun, "test", "--parallel", "--timeout=60000", "--reporter=junit", `--reporter-outfile=${report}`, ...chosen],
  { stdout: "inherit", stderr: "inherit" },
);
const { total, failed, skipped } = readCounts();
rmSync(scratch, { recursive: true, force: true });

const passed = total - failed - skipped;
finish(passed, failed === 0 && (tests.exitCode !== 0 || passed === 0) ? 1 : failed, skipped);

function readCounts(): { total: number; failed: number; skipped: number } {
  const head = /<testsuites [^>]*>/.exec(readReport())?.[0] ?? "";
  const count = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  return { total: count("tests"), failed: count("failures") + count("errors"), skipped: count("skipped") };
}

function readReport(): string {
  try {
    return readFileSync(report, "utf8");
  } catch (error) {
    console.error(`The test run left no report: ${String(error)}`);
    return "";
  }
}

function finish(passed: number, failed: number, skipped = 0): never {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  process.exit(failed === 0 ? 0 : 1);
}
