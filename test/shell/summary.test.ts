import { expect, test } from "bun:test";
import { createCapture } from "../../lib/shell/capture.ts";
import { signalBehind, summarize } from "../../lib/shell/summary.ts";

const kept = (text: string | Uint8Array) => {
  const capture = createCapture();
  capture.add(typeof text === "string" ? Buffer.from(text) : text);
  return capture.kept();
};

const numbered = (count: number, name = "line") =>
  Array.from({ length: count }, (_, n) => `${name} ${n + 1}\n`).join("");

const summary = (
  stdout: string | Uint8Array,
  stderr = "",
  status: { exitCode: number; signal?: string } = { exitCode: 0 },
) => {
  let stored = 0;
  const storeAll = () => `o${++stored}`;
  const text = summarize(status, { stdout: kept(stdout), stderr: kept(stderr) }, { notes: [], storeAll });
  return { text, lines: text.split("\n"), stored };
};

test("a command that says nothing is one line", () => {
  expect(summary("").text).toBe("Exit code: 0 | stdout: 0 lines | stderr: 0 lines");
});

test("small output is shown whole, and then nothing is stored", () => {
  const { text, stored } = summary(numbered(100), "warning\n", { exitCode: 2 });
  expect(text).toBe(
    `Exit code: 2 | stdout: 100 lines | stderr: 1 lines\nstderr:\nwarning\nstdout:\n${numbered(100).trimEnd()}`,
  );
  expect(stored).toBe(0);
});

test("of more, the last 20 lines of stdout and the last 50 of stderr are shown, with the way to the others", () => {
  const { lines, stored } = summary(numbered(3000, "out"), numbered(1000, "err"));
  expect(lines[0]).toBe("Exit code: 0 | stdout: 3000 lines | stderr: 1000 lines");
  expect(lines.filter((line) => line.startsWith("out "))).toEqual(
    Array.from({ length: 20 }, (_, n) => `out ${2981 + n}`),
  );
  expect(lines.filter((line) => line.startsWith("err "))).toEqual(
    Array.from({ length: 50 }, (_, n) => `err ${951 + n}`),
  );
  expect(lines).toContain("stdout, last 20 of 3000 lines:");
  expect(lines.at(-1)).toBe('Cut. All of it: RecallContext {"output":"o1"}');
  expect(stored).toBe(1);
});

test("a stream that fits its lines is not called cut because of the other", () => {
  const { lines } = summary("fine\n", numbered(1000, "err"));
  expect(lines).toContain("stdout:");
  expect(lines).toContain("stderr, last 50 of 1000 lines:");
});

test("a last line without an end is a line", () => {
  const { lines } = summary(`${numbered(3000)}unfinished`);
  expect(lines[0]).toContain("stdout: 3001 lines");
  expect(lines.at(-2)).toBe("unfinished");
});

test("a long line keeps its beginning and its end, and says how much is between", () => {
  const { text, lines } = summary(`short\n{"a":${"1".repeat(50_000)},"z":2}\n`);
  expect(lines).toContain("short");
  expect(text).toMatch(/^\{"a":1+\[… \d+ characters …\]1+,"z":2\}$/m);
  const [, left] = /\[… (\d+) characters …\]/.exec(text) ?? [];
  const shown = lines.find((line) => line.startsWith("{")) ?? "";
  expect(Number(left) + shown.replace(/\[….*…\]/, "").length).toBe(50_012);
});

test("short lines are not cut for the sake of a long one", () => {
  const { lines } = summary(`${"x".repeat(60_000)}\n${`${"y".repeat(200)}\n`.repeat(19)}`);
  expect(lines.filter((line) => line === "y".repeat(200))).toHaveLength(19);
});

test.each([
  ["long lines everywhere", () => summary(`${"o".repeat(5000)}\n`.repeat(100), `${"e".repeat(5000)}\n`.repeat(100))],
  ["five megabytes in one line", () => summary(new Uint8Array(5_000_000).fill(120))],
  ["pairs of surrogates", () => summary(`a${"😀".repeat(20_000)}\n`.repeat(3), `${"😀".repeat(20_000)}\n`.repeat(3))],
  ["binary", () => summary(crypto.getRandomValues(new Uint8Array(60_000)))],
])("the text stays within bounds with %s", (_, make) => {
  const { text, stored } = make();
  expect(text.length).toBeLessThan(16_000);
  expect(text.length).toBeGreaterThan(1_000);
  expect(text.isWellFormed()).toBe(true);
  expect(stored).toBe(1);
});

test("a line whose beginning was not kept says so", () => {
  expect(summary(new Uint8Array(5_000_000).fill(120)).text).toContain("stdout, last 1 of 1 lines:\n[…]xxx");
});

test("bytes that are no UTF-8 do not disturb the rest", () => {
  expect(summary(Uint8Array.of(0x61, 0xff, 0x62, 0x0a)).lines.at(-1)).toBe("a\uFFFDb");
});

test("notes stand between the status and the output", () => {
  const notes = ["timed out after 5 s"];
  const output = { stdout: kept("x\n"), stderr: kept("") };
  const text = summarize({ exitCode: 143, signal: "SIGTERM" }, output, { notes, storeAll: () => "o1" });
  expect(text).toBe(
    "Exit code: 143 (killed by SIGTERM) | stdout: 1 lines | stderr: 0 lines\ntimed out after 5 s\nstdout:\nx",
  );
});

test.each([
  [{ exitCode: 139, signal: "SIGSEGV" }, "SIGSEGV"],
  [{ exitCode: 139 }, "SIGSEGV"],
  [{ exitCode: 137 }, "SIGKILL"],
  [{ exitCode: 134 }, "SIGABRT"],
  [{ exitCode: 141 }, "SIGPIPE"],
  // Programs use these for reasons of their own.
  [{ exitCode: 129 }, undefined],
  [{ exitCode: 130 }, undefined],
  [{ exitCode: 255 }, undefined],
  [{ exitCode: 9 }, undefined],
  [{ exitCode: 0 }, undefined],
])("%j means %s", (status, signal) => {
  expect(signalBehind(status)).toBe(signal);
});
