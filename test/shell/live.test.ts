import { expect, test } from "bun:test";
import { LiveOutput } from "../../lib/shell/live.ts";
import { cpuTime } from "../support/cputime.ts";

const shower = (clock?: () => number) => {
  const shown: string[] = [];
  let wake = Promise.withResolvers<void>();
  const live = new LiveOutput((text) => {
    shown.push(text);
    wake.resolve();
    wake = Promise.withResolvers();
  }, clock);
  return { shown, next: async () => wake.promise, add: (text: string) => live.add(Buffer.from(text)), live };
};

test("lines are shown one by one, as soon as they are complete", () => {
  const { shown, add, live } = shower();
  add("one\ntw");
  expect(shown).toEqual(["one\n"]);
  add("o\n\nthree");
  expect(shown).toEqual(["one\n", "two\n", "\n"]);
  live.end();
  expect(shown).toEqual(["one\n", "two\n", "\n", "three"]);
});

test("a line that takes its time is shown in parts", async () => {
  const { shown, add, next, live } = shower();
  const started = performance.now();
  add("Working");
  expect(shown).toEqual([]);
  await next();
  expect(shown).toEqual(["Working"]);
  expect(performance.now() - started).toBeWithin(90, 5000);
  add("... done\n");
  live.end();
  expect(shown).toEqual(["Working", "... done\n"]);
});

test("a character that is cut between two pieces arrives whole, and a broken one as a replacement", () => {
  const { shown, live } = shower();
  const bytes = Buffer.from("\u{FEFF}a€😀\n");
  for (const byte of bytes) live.add(Uint8Array.of(byte));
  live.add(Uint8Array.of(0x41, 0xff, 0xc3, 0x0a, 0xe2, 0x82));
  live.end();
  expect(shown.join("")).toBe("\u{FEFF}a€😀\nA\uFFFD\uFFFD\n\uFFFD");
});

test("much text at once is one block, with nothing lost", () => {
  const { shown, add, live } = shower();
  const text = Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`).join("");
  add(text);
  live.end();
  expect(shown.join("")).toBe(text);
  expect(shown.length).toBeLessThan(10);
});

test("a long line does not wait for its end", () => {
  const { shown, add } = shower();
  add("x".repeat(20_000));
  expect(shown.join("")).toBe("x".repeat(20_000));
});

test("more than anybody could follow is left out and said so, the lines after it are whole", () => {
  const { shown, add, live } = shower();
  const line = `${"x".repeat(99)}\n`;
  for (let n = 0; n < 500; n++) add(line.repeat(1000));
  live.end();
  const text = shown.join("");
  expect(text.length).toBeLessThan(1.5 * 1024 * 1024);
  const gaps = [...text.matchAll(/\[… ([\d,]+) bytes not shown here …\]\n/g)];
  const hidden = gaps.reduce((sum, [, bytes = ""]) => sum + Number(bytes.replaceAll(",", "")), 0);
  const visible = text.replaceAll(/\[….*…\]\n/g, "");
  expect(hidden + visible.length).toBe(500 * 1000 * line.length);
  expect(new Set(visible.split("\n"))).toEqual(new Set([line.trim(), ""]));
});

test("after a gap it goes on with a whole line, and every byte is either shown or counted", () => {
  let now = 0;
  const { shown, add, live } = shower(() => now);
  const fill = `${"x".repeat(1023)}\n`.repeat(1024);
  add(fill);
  add("lost\nlost too, up to the mid");
  now += 1000;
  add("dle of a line\nback again\n");
  add(fill);
  live.end();
  expect(shown.slice(1)).toEqual([
    "[… 42 bytes not shown here …]\n",
    "back again\n",
    "[… 1,048,576 bytes not shown here …]\n",
  ]);
});

test("a gigabyte without a newline costs neither memory nor time", () => {
  const { shown, live } = shower();
  const piece = new Uint8Array(1024 * 1024).fill(0x78);
  const started = cpuTime();
  for (let n = 0; n < 1024; n++) live.add(piece);
  live.end();
  expect(cpuTime() - started).toBeLessThan(1000);
  expect(shown.join("").length).toBeLessThan(3 * 1024 * 1024);
  expect(shown.at(-1)).toMatch(/^\n?\[… [\d,]+ bytes not shown here …\]\n$/);
});
