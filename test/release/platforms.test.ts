import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compile } from "../../release/compile.ts";
import { bunOf, ripgrepOf } from "../../release/programs.ts";
import type { Target } from "../../release/targets.ts";
import { linkMuslCxx, muslLoader } from "../support/muslcxx.ts";
import { makePlace, type Place } from "../support/place.ts";
import { type Bind, runInRoot, whyNoRoot } from "../support/root.ts";
import type { Ran } from "../support/run.ts";

const scratch = mkdtempSync("/var/tmp/koda-platforms-");
afterAll(() => rmSync(scratch, { recursive: true }));

async function binaryFor(target: Target): Promise<Bind> {
  const outfile = join(scratch, target);
  if (!existsSync(outfile)) await compile({ outfile, target, maps: "none" });
  return { from: outfile, to: "/koda" };
}

/** Why the programs of a target's binary are not here. */
function whyNotFetched(target: Target): string | undefined {
  try {
    bunOf(target);
    ripgrepOf(target);
    return undefined;
  } catch (error) {
    return `npm could not fetch them: ${String(error)}`;
  }
}

function expectDemo(place: Place, { exit, stderr }: Ran): void {
  expect(stderr).toContain("✓ done");
  expect(exit).toBe(0);
  expect(readFileSync(join(place.project, "koda-demo/greet.sh"), "utf8")).toContain("world");
}

const arm64 = {
  target: "linux-arm64",
  libraries: "/usr/aarch64-linux-gnu/lib",
  loader: "/lib/ld-linux-aarch64.so.1",
} as const;

function whyNotArm64(): string | undefined {
  if (process.arch !== "x64") return "this is no x64";
  if (Bun.which("qemu-aarch64") === null) return "there is no qemu-aarch64";
  if (!existsSync(arm64.libraries)) return "there is no libc6-arm64-cross";
  return whyNoRoot() ?? whyNotFetched(arm64.target);
}

const noArm64 = whyNotArm64();

describe.skipIf(noArm64 !== undefined)(`the binary for arm64, in qemu${noArm64 ? ` (${noArm64})` : ""}`, () => {
  const binds = async () => [
    await binaryFor(arm64.target),
    { from: `${arm64.libraries}${arm64.loader.slice("/lib".length)}`, to: arm64.loader },
    { from: arm64.libraries, to: "/lib/aarch64-linux-gnu" },
  ];
  const koda = ["qemu-aarch64", "/koda"];

  test("runs the demo without a sandbox", async () => {
    await using place = makePlace();
    const argv = [...koda, "exec", "-m", "demo", "--no-sandbox", "Fix the failing test"];
    expectDemo(place, await runInRoot(place, await binds(), argv));
  });
});

const muslTarget = process.arch === "arm64" ? "linux-arm64-musl" : "linux-x64-musl";

function whyNotMusl(): string | undefined {
  if (!existsSync(muslLoader)) return "there is no musl";
  const noLibrary = linkMuslCxx(scratch);
  if ("problem" in noLibrary) return noLibrary.problem;
  return whyNoRoot() ?? whyNotFetched(muslTarget);
}

const noMusl = whyNotMusl();

describe.skipIf(noMusl !== undefined)(`the binary for musl${noMusl ? ` (${noMusl})` : ""}`, () => {
  const binds = async () => [
    await binaryFor(muslTarget),
    { from: muslLoader, to: muslLoader },
    { from: join(scratch, "libstdc++.so.6"), to: "/lib/libstdc++.so.6" },
  ];

  test("runs the demo, in the sandbox", async () => {
    await using place = makePlace();
    const ran = await runInRoot(place, await binds(), ["/koda", "exec", "-m", "demo", "Fix the failing test"]);
    expect(ran.stderr).toContain("sandbox namespaces");
    expectDemo(place, ran);
  });

  test("does not start without the C++ library, and the loader names it", async () => {
    await using place = makePlace();
    const { exit, stderr } = await runInRoot(place, (await binds()).slice(0, 2), ["/koda", "--version"]);
    expect([exit, stderr]).toEqual([127, expect.stringContaining("Error loading shared library libstdc++.so.6")]);
  });
});
