import { expect, test } from "bun:test";
import { formatDuration, parseDuration } from "../../lib/config/units.ts";

const durations: [text: string, ms: number | undefined][] = [
  ["0", 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
  ["", undefined],
  ["30", undefined],
  ["30 s", undefined],
  ["-1s", undefined],
  ["1e3s", undefined],
  ["s", undefined],
  ["1w", undefined],
  ["1S", undefined],
  [".5s", undefined],
  ["1.s", undefined],
  ["30s ", undefined],
  ["toString", undefined],
];

test.each(durations)("the duration %j is %p ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test("a duration is written in the largest unit that leaves no remainder", () => {
  const written = [0, 1, 1_500, 90_000, 120_000, 3_600_000, 86_400_000, 90_061_000].map(formatDuration);
  expect(written).toEqual(["0", "1ms", "1500ms", "90s", "2m", "1h", "1d", "90061s"]);
});
