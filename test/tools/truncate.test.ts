import { describe, expect, test } from "bun:test";
import { truncate } from "../../lib/tools/truncate.ts";

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join("");

test("a text that fits is not touched", () => {
  expect(truncate("héllo", { bytes: 6 })).toBe("héllo");
  expect(truncate("", { bytes: 0 })).toBe("");
});

test("a long text keeps whole lines of its beginning and its end, and says how much is missing and where it is", () => {
  const text = lines(1, 1000);
  const cut = truncate(text, { bytes: 100, output: "o7" });
  const [head = "", tail = ""] = cut.split(/\[.*\]\n/);
  expect(text.startsWith(head)).toBe(true);
  expect(text.endsWith(tail)).toBe(true);
  expect(head).toEndWith("\n");
  expect(tail).toStartWith("line ");
  const missing = text.length - head.length - tail.length;
  const count = text.slice(head.length, -tail.length).split("\n").length - 1;
  expect(cut).toContain(
    `[${missing} bytes (${count} lines) left out here; all of it: RecallContext {"output":"o7"}]\n`,
  );
});

test("without an output id the marker names none", () => {
  expect(truncate("x".repeat(100), { bytes: 10 })).toBe("xxxxx\n[90 bytes left out here]\nxxxxx");
});

test("nothing but the marker is left when there is no room", () => {
  expect(truncate("abc", { bytes: 0 })).toBe("[3 bytes left out here]\n");
});

test("a line end far from the cut is not worth the loss", () => {
  const cut = truncate(`a\n${"x".repeat(1000)}\nb`, { bytes: 100 });
  expect(cut).toStartWith(`a\n${"x".repeat(48)}\n[`);
  expect(cut).toEndWith(`]\n${"x".repeat(48)}\nb`);
});

const clusters = ["é", "日", "😀", "👩‍👩‍👧‍👦", "e\u0301", "🇩🇪", "\r\n", "👍🏽"];

describe("cuts never fall into a character", () => {
  test.each(clusters)("%j", (cluster) => {
    const text = cluster.repeat(200);
    for (let bytes = 0; bytes < 120; bytes++) {
      const cut = truncate(text, { bytes });
      const [before = "", tail = ""] = cut.split(/\[\d+ bytes.*\]\n/);
      const head = cluster === "\r\n" ? before : before.replace(/\n$/, "");
      expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(bytes);
      expect(head.replaceAll(cluster, "")).toBe("");
      expect(tail.replaceAll(cluster, "")).toBe("");
    }
  });
});

test("lone surrogates are no reason to fail", () => {
  expect(truncate("\uD83D".repeat(100), { bytes: 30 })).toContain("left out");
});

test("a text of megabytes is cut at once", () => {
  const text = "日本語 ".repeat(1_000_000);
  const started = performance.now();
  expect(truncate(text, { bytes: 50_000 }).length).toBeLessThan(50_000);
  expect(performance.now() - started).toBeLessThan(2000);
});
