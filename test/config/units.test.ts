import { expect, test } from "bun:test";
import { formatAge, formatDuration, formatElapsed, parseDuration } from "../../lib/config/units.ts";

const durations: [text: string, ms: number | undefined][] = [
  ["0", 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
  ...["", "30", "30 s", "-1s", "1e3s", "s", "1w", "1S", ".5s", "1.s", "30s ", "toString"].map(
    (text) => [text, undefined] as [string, undefined],
  ),
];

test.each(durations)("the duration %j is %p ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test("a duration is written in the largest unit that leaves no remainder", () => {
  const written = [0, 1, 1_500, 90_000, 120_000, 3_600_000, 86_400_000, 90_061_000].map(formatDuration);
  expect(written).toEqual(["0", "1ms", "1500ms", "90s", "2m", "1h", "1d", "90061s"]);
});

const times: readonly [ms: number, text: string][] = [
  [0, "0 ms"],
  [3.4, "3 ms"],
  [999, "999 ms"],
  [999.7, "1.0 s"],
  [1_234, "1.2 s"],
  [9_960, "10 s"],
  [12_345, "12 s"],
  [59_700, "1 min 0 s"],
  [200_400, "3 min 20 s"],
];

test.each(times)("a measured time of %p ms is %s", (ms, text) => {
  expect(formatElapsed(ms)).toBe(text);
});

test("an age has one unit", () => {
  expect([0, 59_999, 3_599_000, 90_000_000, 40_000_000_000].map(formatAge)).toEqual(["0s", "59s", "59m", "1d", "462d"]);
});
