import { expect, test } from "bun:test";
import { mergeReviews, type PlacedFinding } from "../../lib/review/findings.ts";
import { planParts, showPatch } from "../../lib/review/parts.ts";
import { finding } from "../support/review.ts";
import { seeded } from "../support/random.ts";

const file = (path: string, bytes: number) => ({ path, bytes });

test("parts have whole files in their order as far as these fit, and a large file has parts of its own", () => {
  const files = [file("a", 60), file("b", 40), file("c", 1), file("d", 250), file("e", 99), file("f", 1)];
  const parts = planParts(files, 100).map(({ files, lines }) => [files.map(({ path }) => path).join(), lines?.from]);
  expect(parts).toEqual([
    ["a,b", undefined],
    ["c", undefined],
    ["d", 0],
    ["d", 100],
    ["d", 200],
    ["e,f", undefined],
  ]);
  expect(
    planParts(
      Array.from({ length: 401 }, (_, at) => file(`${at}`, 0)),
      100,
    ),
  ).toHaveLength(3);
});

/** The number that each added or kept line has after the change, by a patch. */
function numbersIn(patch: string): Map<string, number> {
  const numbers = new Map<string, number>();
  let after = 0;
  for (const line of patch.split("\n")) {
    const [, start] = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(line) ?? [];
    if (start !== undefined) after = Number(start);
    else if (/^[ +](?!\+\+ )/.test(line)) numbers.set(line.slice(1), after++);
  }
  return numbers;
}

test("the pieces of a patch have each line once, with its own number", () => {
  const random = seeded(7);
  const hunks = Array.from({ length: 30 }, (_, at) => {
    const lines = Array.from({ length: 1 + random() * 40 }, (_, line) => {
      const sign = [" ", "+", "-"][Math.floor(random() * 3)];
      return `${sign}${"é".repeat(random() * 30)} ${at}.${line}`;
    });
    return [`@@ -${at * 100 + 1},9 +${at * 200 + 1},9 @@ f()`, ...lines];
  });
  const names = ["diff --git a/x b/x", "--- a/x", "+++ b/x"];
  const patch = [...names, ...hunks.flat(), ""].join("\n");
  const bytes = Buffer.byteLength(patch);
  for (const budget of [50, 333, 1000, bytes]) {
    const parts = planParts([file("x", bytes)], budget);
    const pieces = parts.map((part) => showPatch(patch, part));
    for (const piece of pieces) expect(piece).toStartWith(names.join("\n"));
    // No piece is much larger than another, so none is empty where lines are shorter than a piece.
    const sizes = pieces.map((piece) => Buffer.byteLength(piece));
    if (budget > 100) expect(Math.max(...sizes)).toBeLessThan(budget + 200);
    if (budget > 100) expect(Math.min(...sizes.slice(0, -1), bytes)).toBeGreaterThan(budget - 200);
    const numbers = pieces.flatMap((piece) => [...numbersIn(piece)]);
    expect(numbers).toEqual([...numbersIn(patch)]);
  }
});

test("a line of data is cut", () => {
  const shown = showPatch(`+${"x".repeat(5000)}\n+y`, { files: [] });
  expect(shown).toBe(`+${"x".repeat(999)}… [4001 more characters]\n+y`);
});

test("a reviewer that finds 12,000 things at one place is read in a moment", () => {
  const findings = Array.from({ length: 12_000 }, (_, at) => ({
    ...finding("a", { title: `defect ${at}` }),
    text: "",
  }));
  const startedAt = performance.now();
  expect(mergeReviews([{ summary: "", findings }]).findings).toHaveLength(12_000);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});

test("two reviewers' findings are one list without what both have found, worst first", () => {
  const placed = (title: string, more: Partial<PlacedFinding> = {}) => ({
    ...finding("a", { title }),
    text: "",
    ...more,
  });
  const review = (summary: string, ...findings: readonly PlacedFinding[]) => ({ summary, findings });
  const merged = mergeReviews([
    review(
      "One.",
      placed("The LOCK leaks", { end_line: 5, severity: "low" }),
      placed("late", { start_line: 9, end_line: 9 }),
    ),
    review(
      "Two.",
      placed("the lock, leaks.", { start_line: 5, end_line: 7, severity: "high" }),
      placed("The lock leaks", { path: "b" }),
    ),
    review("One.", placed("The lock leaks", { start_line: 8, end_line: 8, severity: "info" })),
  ]);
  expect(merged.summary).toBe("One.\nTwo.");
  expect(merged.findings.map(({ path, start_line: line, severity }) => `${path}:${line} ${severity}`)).toEqual([
    "a:5 high",
    "a:9 medium",
    "b:1 medium",
    "a:8 info",
  ]);
});
