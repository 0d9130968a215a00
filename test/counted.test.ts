import { expect, test } from "bun:test";
import { counted, withCommas } from "../lib/counted.ts";

test("counts have their nouns in the right number", () => {
  expect([counted(0, "file"), counted(1, "file"), counted(1_234, "file")]).toEqual([
    "0 files",
    "1 file",
    "1,234 files",
  ]);
  expect([counted(1, "entry", "entries"), counted(2, "entry", "entries")]).toEqual(["1 entry", "2 entries"]);
});

test("digits of whole numbers stand in groups of three", () => {
  const numbers = [0, 7, 999, 1_000, 12_345, 123_456, 1_234_567];
  expect(numbers.map(withCommas)).toEqual(numbers.map((number) => number.toLocaleString("en")));
});
