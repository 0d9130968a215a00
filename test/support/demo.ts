/**
 * `npm run demo`: koda's main job with nothing but this checkout. The scripted model repairs a tiny failing project in
 * a scratch directory, with the real tools and a real session store, and everything is gone afterwards.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const scratch = mkdtempSync(join(tmpdir(), "koda-demo-"));
const [home, project] = [join(scratch, "home"), join(scratch, "project")];
for (const directory of [home, project]) mkdirSync(directory);

const run = Bun.spawnSync([resolve("dist/koda"), "exec", "-m", "demo"], {
  cwd: project,
  env: { HOME: home, PATH: process.env.PATH ?? "", TERM: process.env.TERM ?? "" },
  stdin: "ignore",
  stdout: "inherit",
  stderr: "inherit",
});
const test = Bun.spawnSync(["sh", "koda-demo/test.sh"], { cwd: project, stdout: "inherit", stderr: "inherit" });
rmSync(scratch, { recursive: true, force: true });

console.log(`koda exited ${run.exitCode}; the repaired project's own test exits ${test.exitCode}`);
process.exit(run.exitCode === 0 && test.exitCode === 0 ? 0 : 1);
