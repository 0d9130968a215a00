import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sign } from "../../release/sign.ts";
import { makePlace } from "../support/place.ts";

const isThere = Bun.which("minisign") !== null;

test.skipIf(!isThere)(`minisign verifies the signature${isThere ? "" : " (there is no minisign)"}`, async () => {
  await using place = makePlace({ SHA256SUMS: "sums\n" });
  const run = (...args: string[]) =>
    Bun.spawnSync(["minisign", ...args], { cwd: place.project, stdin: "ignore" }).exitCode;
  expect(run("-G", "-W", "-p", "key.pub", "-s", "key")).toBe(0);
  const [file, key] = [join(place.project, "SHA256SUMS"), join(place.project, "key")];
  await sign(file, key);
  expect(run("-V", "-p", "key.pub", "-m", "SHA256SUMS")).toBe(0);

  const first = readFileSync(`${file}.minisig`, "utf8");
  await sign(file, key);
  expect(readFileSync(`${file}.minisig`, "utf8")).toBe(first);

  place.write("SHA256SUMS", "other sums\n");
  expect(run("-V", "-p", "key.pub", "-m", "SHA256SUMS")).not.toBe(0);
});
