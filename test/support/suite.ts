import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { keptVariable } from "./kept.ts";
import { withMemoryTmp } from "./memorytmp.ts";
import { type Case, casesIn, linesByFolder, linesOfSkipped } from "./report.ts";

/**
 * Runs the tests below the working directory and closes with `N passed, N failed`; only what failed is shown whole. A
 * run that executed no test has failed, whatever its exit code: `process.exit(0)` in code under test ends `bun test`
 * without a word. What failed runs once more by itself, to tell which tests fail only beside others: they have failed.
 */
export async function runSuite(chosen: readonly string[]): Promise<number> {
  const { cases, exitCode } = await runTests([`--parallel=${workers}`, `--timings=${timings}`, ...chosen]);
  const failed = cases.filter(({ outcome }) => outcome === "failed");
  const skipped = cases.filter(({ outcome }) => outcome === "skipped").length;
  const flaky = await passedAlone(failed);

  for (const line of [...linesOfSkipped(cases), ...linesByFolder(cases)]) console.log(line);
  for (const { name, file } of flaky) console.log(`flaky: failed beside the others and passed alone: ${file}: ${name}`);
  console.log(`flaky: ${flaky.length} (limit: 0)`);
  const passed = cases.length - skipped - failed.length;
  const brokeOff = passed === 0 || exitCode !== 0;
  const totals = { passed, failed: Math.max(failed.length, brokeOff ? 1 : 0), skipped };
  console.log(closingLine(totals));
  return totals.failed === 0 ? 0 : 1;
}

/** One more than processors: a test often waits for a limit, a retry or a process to end. */
const workers = availableParallelism() + 1;

/** Of each file, so that the slowest begin first. `--update-timings` writes what a run took. */
const timings = join(import.meta.dir, "timings.json");

type Totals = { passed: number; failed: number; skipped: number };

export function closingLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

async function runTests(args: readonly string[]): Promise<{ exitCode: number; cases: readonly Case[] }> {
  const scratch = mkdtempSync(join(tmpdir(), "koda-test-run-"));
  const report = join(scratch, "report.xml");
  const flags = ["--timeout=60000", "--only-failures", "--reporter=junit", `--reporter-outfile=${report}`];
  const kept = join(scratch, "kept");
  mkdirSync(kept);
  // A short name: sockets have a path of 108 bytes at most.
  const memory = mkdtempSync(join(tmpdir(), "kt-"));
  const { command, env } = withMemoryTmp(memory, [process.execPath, "test", ...flags, ...args]);
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env, [keptVariable]: kept },
    stdout: "inherit",
    stderr: "inherit",
  });
  const exitCode = await child.exited;
  const cases = casesIn(textOf(report));
  for (const directory of [scratch, memory]) rmSync(directory, { recursive: true });
  return { exitCode, cases };
}

/** The tests that pass when only the files run that had failures. */
async function passedAlone(failed: readonly Case[]): Promise<readonly Case[]> {
  if (failed.length === 0) return [];
  const files = [...new Set(failed.map(({ file }) => file))];
  console.log(`\nOnce more, alone: ${files.join(" ")}`);
  const { cases } = await runTests(files);
  const passes = (test: Case) =>
    cases.some(({ name, file, outcome }) => outcome === "passed" && name === test.name && file === test.file);
  return failed.filter(passes);
}

function textOf(report: string): string {
  try {
    return readFileSync(report, "utf8");
  } catch (error) {
    console.error(`The test run left no report: ${String(error)}`);
    return "";
  }
}
