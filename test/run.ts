/** The one test command: builds the binary, then runs every test, or those that its arguments choose. */
import { join, relative } from "node:path";
import { installPackages } from "./support/packages.ts";
import { type Copy, copyForNobody } from "./support/reachable.ts";
import { installManagers } from "./support/packagemanagers.ts";
import { installSchemas } from "./support/publishedschemas.ts";
import { installRecentNode } from "./support/recentnode.ts";
import { sharedDataEnvironment } from "./support/shareddata.ts";
import { closingLine, runSuite } from "./support/suite.ts";

const bun = process.execPath;
const chosen = process.argv.slice(2);

installPackages();
installRecentNode();
installManagers();
installSchemas();
const build = Bun.spawnSync([bun, "build.ts"], { stdout: "inherit", stderr: "inherit" });
if (build.exitCode !== 0) {
  console.log(closingLine({ passed: 0, failed: 1, skipped: 0 }));
  process.exit(1);
}
const copy = copyForNobody(process.cwd());
process.exit(copy === undefined ? await runSuite(chosen) : await runIn(copy));

/** The same again, in a copy of this checkout that is removed afterwards. */
async function runIn(copy: Copy): Promise<number> {
  console.error(`only root may enter this checkout: the tests run in a copy, ${copy.path}`);
  using _ = copy;
  const below = relative(process.cwd(), bun);
  const there = below.startsWith("..") ? bun : join(copy.path, below);
  const child = Bun.spawn([there, "test/run.ts", ...chosen], {
    cwd: copy.path,
    env: { ...process.env, ...sharedDataEnvironment },
    stdio: ["ignore", "inherit", "inherit"],
  });
  // Ctrl-C reaches the child as well; either way its end is waited for, since the copy goes after it.
  process.on("SIGINT", () => {}).on("SIGTERM", () => child.kill());
  return await child.exited;
}
