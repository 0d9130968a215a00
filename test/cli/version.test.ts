import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { version } from "../../package.json";
import { identityOf } from "../../release/identity.ts";
import { binary, koda } from "../support/koda.ts";
import { makePlace } from "../support/place.ts";

test("--version --json has the version, the commit, the build, the target and the hash of the program itself", async () => {
  await using place = makePlace();
  const { stdout, stderr, exit } = await koda(place, ["--version", "--json"]);
  expect([exit, stderr]).toEqual([0, ""]);
  const { commit, ...identity } = JSON.parse(stdout) as { commit: string | null; build: { modified: boolean } };
  expect(commit ?? "0".repeat(40)).toMatch(/^[\da-f]{40}$/);
  expect<unknown>(identity).toEqual({
    version,
    build: { bun: Bun.version, modified: identity.build.modified },
    target: expect.stringMatching(/^linux-(?:x64|arm64)(?:-musl)?$/),
    sha256: createHash("sha256").update(readFileSync(binary)).digest("hex"),
  });
  expect((await koda(place, ["--version"])).stdout).toBe(`koda ${version}\n`);
});

test("a build knows its commit, as git tells it", () => {
  const git = Bun.spawnSync(["git", "rev-parse", "HEAD"]);
  const commit = git.success ? git.stdout.toString().trim() : null;
  expect(identityOf("linux-arm64")).toMatchObject({
    KODA_VERSION: JSON.stringify(version),
    KODA_COMMIT: JSON.stringify(commit),
    KODA_TARGET: '"linux-arm64"',
  });
});
