import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { measureParts, page } from "../../bench/size.ts";
import { hostTarget } from "../../release/targets.ts";

const isMeasured = hostTarget() === "linux-x64";

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
