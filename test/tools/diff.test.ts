import { expect, test } from "bun:test";
import { diffOf } from "../../lib/tools/diff.ts";
import { cpuTime } from "../support/cputime.ts";

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");

test("a change is shown with three lines around it and its place in the file", async () => {
  const before = lines(1000);
  expect(await diffOf(before, before.replace("line 500\n", "row 500\nrow 501\n"))).toEqual({
    added: 2,
    removed: 1,
    hunks: [
      "@@ -497,7 +497,8 @@",
      " line 497",
      " line 498",
      " line 499",
      "-line 500",
      "+row 500",
      "+row 501",
      " line 501",
      " line 502",
      " line 503",
    ],
  });
});

test("two places far apart are two hunks", async () => {
  const before = lines(100);
  const diff = await diffOf(before, before.replace("line 10\n", "").replace("line 90\n", "row 90\n"));
  expect(diff?.hunks.filter((line) => line.startsWith("@@"))).toEqual(["@@ -7,7 +7,6 @@", "@@ -87,7 +86,7 @@"]);
  expect(diff).toMatchObject({ added: 1, removed: 2 });
});

const edges: [what: string, before: string, after: string, hunks: string[]][] = [
  ["the first line", "a\nb\n", "x\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+x", " b"]],
  ["the last line", "a\nb\n", "a\nx\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+x"]],
  ["all", "a\n", "", ["@@ -1,1 +0,0 @@", "-a"]],
  ["from nothing", "", "a\n", ["@@ -0,0 +1,1 @@", "+a"]],
  ["an empty first line as context", "\na\n", "\nx\n", ["@@ -1,2 +1,2 @@", " ", "-a", "+x"]],
  ["CRLF without the CR", "a\r\nb\r\n", "a\r\nx\r\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+x"]],
  ["a newline put at the end", "a", "a\n", ["@@ -1,1 +1,1 @@", "-a", "\\ No newline at end of file", "+a"]],
  ["a line put between equals", "x\nx\n", "x\nx\nx\n", ["@@ -1,2 +1,3 @@", " x", " x", "+x"]],
];

test.each(edges)("%s", async (_, before, after, hunks) => {
  expect((await diffOf(before, after))?.hunks).toEqual(hunks);
});

test("a small change of a large file takes no time worth speaking of", async () => {
  const before = lines(500_000);
  const started = cpuTime();
  const diff = await diffOf(before, before.replace("line 250000\n", "x\n"));
  expect(diff?.hunks[0]).toBe("@@ -249997,7 +249997,7 @@");
  expect(cpuTime() - started).toBeLessThan(2000);
});

test("whether a diff is made depends on the texts alone, not on the time it takes", async () => {
  const rewritten = (count: number) =>
    lines(2000).replace(/^line (\d+)$/gm, (line, n) => (n <= count ? `row ${n}` : line));
  expect(await diffOf(lines(2000), rewritten(750))).toMatchObject({ added: 750, removed: 750 });
  expect(await diffOf(lines(2000), rewritten(751))).toBeUndefined();
});

test("of texts that have too little in common no diff is made", async () => {
  const other = Array.from({ length: 100_000 }, (_, i) => `${i * 7} differs\n`).join("");
  expect(await diffOf(lines(100_000), other)).toBeUndefined();
});
