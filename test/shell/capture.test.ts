import { expect, test } from "bun:test";
import { beginning, countNewlines, createCapture, endOf, since, type KeptStream } from "../../lib/shell/capture.ts";

const MiB = 1024 * 1024;

/** Bytes whose value tells their position, so that a misplaced one shows. */
const positions = (from: number, length: number) => {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = Math.imul(from + index, 0x9e3779b1) >>> 24;
  return bytes;
};

const feed = (total: number, chunk: number): KeptStream => {
  const capture = createCapture();
  for (let at = 0; at < total; at += chunk) capture.add(positions(at, Math.min(chunk, total - at)));
  return capture.kept();
};

test.each([
  ["nothing", 0, 1],
  ["one byte", 1, 1],
  ["less than the head holds", 5000, 7],
  ["exactly the head", MiB, 65_536],
  ["one byte more", MiB + 1, 65_536],
  ["head and tail", 2 * MiB, 100_000],
  ["more than is kept", 2 * MiB + 12_345, 99_991],
  ["much more than is kept", 9 * MiB + 17, 65_536],
  ["pieces bigger than the tail", 6 * MiB, 3 * MiB],
  ["a last piece smaller than the tail", 6 * MiB + 5, 3 * MiB],
])("of %s the beginning and the end are kept", (_, total, chunk) => {
  const { head, tail, totalBytes } = feed(total, chunk);
  expect(totalBytes).toBe(total);
  expect(head.length).toBe(Math.min(total, MiB));
  expect(tail.length).toBe(Math.min(total - head.length, MiB));
  expect(Buffer.compare(head, positions(0, head.length))).toBe(0);
  expect(Buffer.compare(tail, positions(total - tail.length, tail.length))).toBe(0);
});

test.each([
  ["", 0],
  ["a", 1],
  ["a\n", 1],
  ["\n\n", 2],
  ["a\nb", 2],
  ["a\r\nb\r\n", 2],
])("%j has %i lines", (text, lines) => {
  const capture = createCapture();
  for (const byte of Buffer.from(text)) capture.add(Uint8Array.of(byte));
  expect(capture.kept().totalLines).toBe(lines);
});

test("newlines are counted right at every offset, length and neighbourhood", () => {
  const bytes = new Uint8Array(600);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = [10, 11, 9, 0x8a, 0, 255, 10, 138, 74][(index * 7 + (index >> 3)) % 9] ?? 0;
  for (let from = 0; from < 9; from++) {
    for (let to = from; to < bytes.length; to += 13) {
      const part = bytes.subarray(from, to);
      expect(countNewlines(part)).toBe(part.filter((byte) => byte === 10).length);
    }
  }
});

test("newlines are counted right where there is nothing else", () => {
  expect(countNewlines(new Uint8Array(10_007).fill(10))).toBe(10_007);
});

test("what was taken does not change with the buffer it came in", () => {
  const capture = createCapture();
  const lent = Buffer.from("first");
  capture.add(lent);
  lent.fill("x");
  const earlier = capture.kept();
  capture.add(Buffer.from(" second"));
  expect(Buffer.from(earlier.head).toString()).toBe("first");
  expect(Buffer.from(capture.kept().head).toString()).toBe("first second");
});

test.each([
  ["within the head", 10, 20],
  ["from the head into the tail", 100, MiB + 100],
  ["within the tail", MiB + 50, MiB + 700],
  ["across the gap", 100, 5 * MiB],
  ["after the gap", 5 * MiB, 5 * MiB + 500],
  ["nothing new", 3000, 3000],
])("what came after a mark: %s", (_, first, second) => {
  const capture = createCapture();
  capture.add(positions(0, first));
  const mark = endOf(capture.kept());
  capture.add(positions(first, second - first));
  const fresh = since(mark, capture.kept());
  expect(fresh.totalBytes).toBe(second - first);
  expect(Buffer.compare(fresh.head, positions(first, fresh.head.length))).toBe(0);
  expect(Buffer.compare(fresh.tail, positions(second - fresh.tail.length, fresh.tail.length))).toBe(0);
  const isWhole = second <= 2 * MiB || first > second - MiB;
  expect(fresh.head.length + fresh.tail.length === fresh.totalBytes).toBe(isWhole);
});

test("lines after a mark: one that was unfinished counts again when more of it comes", () => {
  const capture = createCapture();
  expect(since(beginning, capture.kept()).totalLines).toBe(0);
  capture.add(Buffer.from("one\ntw"));
  const mark = endOf(capture.kept());
  expect(since(mark, capture.kept()).totalLines).toBe(0);
  capture.add(Buffer.from("o\nthree"));
  expect(since(mark, capture.kept()).totalLines).toBe(2);
});
