import { expect, test } from "bun:test";
import { accessSync, constants, cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { lockedPackage } from "../../release/lockfile.ts";
import { ripgrepOf } from "../../release/programs.ts";
import { makePlace } from "../support/place.ts";
import { runIn } from "../support/run.ts";

/** npm has not installed it, since it is not for this machine. */
const other = process.arch === "arm64" ? "linux-x64" : "linux-arm64";
const problem = whyNotFetched();

function whyNotFetched(): string | undefined {
  try {
    ripgrepOf(other);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

const name = `a program of another platform is fetched, and is what the lock file says${problem ? ` (${problem})` : ""}`;

test.skipIf(problem !== undefined)(name, async () => {
  const lock = readFileSync("package-lock.json", "utf8");
  await using place = makePlace({ "package-lock.json": lock });
  cpSync("release", join(place.project, "release"), { recursive: true });
  const script = `import { ripgrepOf } from './release/programs.ts'; console.log(ripgrepOf("${other}").path)`;
  const fetch = () => runIn(place, [process.execPath, "-e", script]);
  const fetched = (await fetch()).stdout.trim();
  expect(fetched).toStartWith(join(place.project, "node_modules/.cache/programs/@vscode/ripgrep-linux-"));
  accessSync(fetched, constants.X_OK);

  rmSync(fetched);
  const { integrity } = lockedPackage(`node_modules/${ripgrepOf(other).packageName}`);
  place.write("package-lock.json", lock.replace(integrity, integrity.replace("sha512-", "sha512-A")));
  expect((await fetch()).stderr).toContain("is not what package-lock.json has");
});
