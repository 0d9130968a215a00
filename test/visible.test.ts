import { expect, test } from "bun:test";
import { visible, visibleLine, visibleMessage } from "../lib/visible.ts";

const everyScript = "日本語 👩‍👩‍👧 é עברית\u200f";

test("text keeps its lines, tabs and every script, and nothing that steers", () => {
  expect(visible(`a\tb\r\nc\rd ${everyScript}\u001b[A\u0008\u007f\u0085\u009d`)).toBe(`a\tb\nc\nd ${everyScript}[A`);
});

test("signs that reorder what is beside them are seen in text and in names", () => {
  expect(visible("a\u202eb\u2066c\n\u2069")).toBe("a\\u202eb\\u2066c\n\\u2069");
  expect(visibleLine("a\u202ab\u202c\u2067")).toBe("a\\u202ab\\u202c\\u2067");
});

test("a name stays on its line, whatever is in it", () => {
  expect(visibleLine(`a\nkoda: b\r\tc\u001b[2J\u0085\u2028\u2029 ${everyScript}`)).toBe(
    `a\\nkoda: b\\r\\tc\\u001b[2J\\u0085\\u2028\\u2029 ${everyScript}`,
  );
});

test("a message of several lines has one beginning", () => {
  expect(visibleMessage("koda: a\nkoda: b\r\nc\u202e")).toBe("koda: a\n  koda: b\n  c\\u202e");
});
