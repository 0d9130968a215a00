import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { binary, using } from "../test/support/koda.ts";
import { startModelServer } from "../test/support/model-server.ts";
import type { Place } from "../test/support/place.ts";
import { findBugs, makeRepository } from "../test/support/review.ts";
import { cost, type Figure } from "./measure.ts";

const many = 5000;
const few = 50;
const linesOfEach = 300;

/**
 * The memory of a review of 5,000 new files, 60 MB of patches in hundreds of parts. The floor is a review of 50 such
 * files: what is there for each file and each part may grow, and the patches may not be held.
 */
export async function measure(): Promise<Figure[]> {
  const [large, small] = [await reviewOf(many), await reviewOf(few)];
  const mostMb = small.peakMb + 150;
  return [
    {
      what: "memory of a review of 5,000 files, 60 MB of patches",
      value: large.peakMb,
      unit: "MB",
      floor: small.peakMb,
      bar: `≤ ${mostMb.toFixed(0)} MB`,
      holds: large.peakMb <= mostMb && large.exit === 0,
    },
    {
      what: "its time for each file",
      value: large.wallMs / many,
      unit: "ms",
      floor: small.wallMs / few,
      bar: "≤ 10 ms",
      holds: large.wallMs / many <= 10,
    },
  ];
}

async function reviewOf(files: number) {
  await using place = makeRepository();
  writeFiles(place, files);
  await using server = await startModelServer(findBugs);
  const argv = [binary, "review", "--output", "json", "-q", "--max-turns", "1000", ...using(server)];
  return await cost(argv, { cwd: place.project, env: place.env, peak: true });
}

function writeFiles(place: Place, count: number): void {
  for (let at = 0; at < count; at++) {
    if (at % 100 === 0) mkdirSync(join(place.project, `d${at / 100}`));
    const lines = Array.from({ length: linesOfEach }, (_, line) => `line ${line} of ${at}: ${Math.random()}`);
    place.write(`d${Math.floor(at / 100)}/f${at}.ts`, `${lines.join("\n")}\n`);
  }
}
