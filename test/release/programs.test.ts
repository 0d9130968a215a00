import { expect, test } from "bun:test";
import { accessSync, constants, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockedPackage } from "../../release/lockfile.ts";
import { ripgrepOf } from "../../release/programs.ts";
import { makeCheckout } from "../support/checkout.ts";

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

test.skipIf(problem !== undefined)(name, () => {
  using checkout = makeCheckout();
  const script = `import { ripgrepOf } from './release/programs.ts'; console.log(ripgrepOf("${other}").path)`;
  const fetched = checkout.run(process.execPath, "-e", script).said.trim();
  expect(fetched).toStartWith(join(checkout.path, "node_modules/.cache/programs/@vscode/ripgrep-linux-"));
  accessSync(fetched, constants.X_OK);

  rmSync(fetched);
  const lock = join(checkout.path, "package-lock.json");
  const { integrity } = lockedPackage(`node_modules/${ripgrepOf(other).packageName}`);
  writeFileSync(lock, readFileSync(lock, "utf8").replace(integrity, integrity.replace("sha512-", "sha512-A")));
  expect(checkout.run(process.execPath, "-e", script).said).toContain("is not what package-lock.json has");
});
