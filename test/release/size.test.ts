import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureParts, page } from "../../bench/size.ts";
import { compile } from "../../release/compile.ts";
import { hostTarget } from "../../release/targets.ts";

const target = hostTarget();
const isMeasured = target === "linux-x64";

test.skipIf(!isMeasured)(`${page} has the sizes of today's parts${isMeasured ? "" : " (of linux-x64)"}`, async () => {
  const rows = [...readFileSync(page, "utf8").matchAll(/^\| (.+?) +\| (\d+\.\d) +\|/gm)];
  const written = new Map(rows.map(([, name = "", megabytes]) => [name, Number(megabytes)]));
  for (const { name, bytes } of await measureParts("linux-x64")) {
    const [now, then] = [bytes / 1e6, written.get(name)];
    const isClose = then !== undefined && Math.abs(now - then) < 0.1 + now / 10;
    expect(`${name}: ${now.toFixed(1)}`).toBe(
      isClose ? `${name}: ${now.toFixed(1)}` : `${name}: ${then}, so run npm run size -- --write`,
    );
  }
});

test("no code is in the binary that koda has replaced with its own", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "koda-size-"));
  const modules = await compile({ outfile: join(scratch, "koda"), target: target ?? "linux-x64", maps: "none" });
  rmSync(scratch, { recursive: true });
  expect([...modules.keys()].filter((path) => /ajv/i.test(path))).toEqual([]);
});
