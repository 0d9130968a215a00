/**
 * The one test command: builds the binary, runs every test, and closes with `N passed, N failed`. Only what failed is
 * shown whole. A run that executed no test has failed, whatever its exit code: `process.exit(0)` in code under test
 * ends `bun test` without a word.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { installPackages } from "./support/packages.ts";
import { type Copy, copyForNobody } from "./support/reachable.ts";
import { installRecentNode } from "./support/recentnode.ts";
import { type Case, casesIn, linesByFolder, linesOfSkipped } from "./support/report.ts";

const bun = process.execPath;
const chosen = process.argv.slice(2);

installPackages();
installRecentNode();
const build = Bun.spawnSync([bun, "build.ts"], { stdout: "inherit", stderr: "inherit" });
if (build.exitCode !== 0) finish(0, 1);
const copy = copyForNobody(process.cwd());
if (copy !== undefined) process.exit(await runIn(copy));

const scratch = mkdtempSync(join(tmpdir(), "koda-test-run-"));
const all = ["--parallel", ...chosen];
const first = await runTests(all, "first");
const again = first.exitCode === 0 ? first : await runAgain(first);
rmSync(scratch, { recursive: true, force: true });

for (const line of [...linesOfSkipped(first.cases), ...linesByFolder(first.cases)]) console.log(line);
// A machine that many share makes some test late now and then. What fails alone as well has failed; what does not is
// named, since its cause is still to be found.
const failedAgain = failedIn(again);
const flaky = failedIn(first).filter(
  (test) => !failedAgain.some(({ name, file }) => name === test.name && file === test.file),
);
for (const { name, file } of flaky) console.log(`flaky: failed beside the others and passed alone: ${file}: ${name}`);

const failed = failedAgain.length;
const skipped = first.cases.filter(({ outcome }) => outcome === "skipped").length;
const passed = first.cases.length - skipped - failed;
const brokeOff = again.exitCode !== 0 && failed === 0;
finish(passed, brokeOff || passed === 0 ? Math.max(1, failed) : failed, skipped);

/** The same again, in a copy of this checkout that is removed afterwards. */
async function runIn(copy: Copy): Promise<number> {
  console.error(`only root may enter this checkout: the tests run in a copy, ${copy.path}`);
  using _ = copy;
  const below = relative(process.cwd(), bun);
  const there = below.startsWith("..") ? bun : join(copy.path, below);
  const child = Bun.spawn([there, "test/run.ts", ...chosen], {
    cwd: copy.path,
    stdio: ["ignore", "inherit", "inherit"],
  });
  // Ctrl-C reaches the child as well; either way its end is waited for, since the copy goes after it.
  process.on("SIGINT", () => {}).on("SIGTERM", () => child.kill());
  return await child.exited;
}

type Result = { exitCode: number; cases: readonly Case[]; hasErrors: boolean };

async function runTests(args: readonly string[], name: string): Promise<Result> {
  const report = join(scratch, `${name}.xml`);
  const flags = ["--timeout=60000", "--only-failures", "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn([bun, "test", ...flags, ...args], { stdout: "inherit", stderr: "pipe" });
  const decoder = new TextDecoder();
  let end = "";
  for await (const bytes of child.stderr) {
    process.stderr.write(bytes);
    end = (end + decoder.decode(bytes, { stream: true })).slice(-1_000);
  }
  return { exitCode: await child.exited, cases: casesIn(textOf(report)), hasErrors: /^ *\d+ errors?$/m.test(end) };
}

/** Only the files that failed, where the report knows them. */
async function runAgain(result: Result): Promise<Result> {
  const files = suspects(result);
  console.log(`\nOnce more, ${files === undefined ? "all of it" : `alone: ${files.join(" ")}`}`);
  return await runTests(files ?? all, "again");
}

function failedIn({ cases }: Result): Case[] {
  return cases.filter(({ outcome }) => outcome === "failed");
}

/** Undefined when the report does not know them all: it leaves out a file that cannot be loaded. */
function suspects(result: Result): string[] | undefined {
  const files = new Set(failedIn(result).map(({ file }) => file));
  return result.hasErrors || files.size === 0 ? undefined : [...files];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    console.error(`The test run left no report: ${String(error)}`);
    return "";
  }
}

function finish(passed: number, failed: number, skipped = 0): never {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  process.exit(failed === 0 ? 0 : 1);
}
