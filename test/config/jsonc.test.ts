import { expect, test } from "bun:test";
import { parseJsonc } from "../../lib/config/jsonc.ts";

test("comments and trailing commas are allowed", () => {
  const text = '// first\n{ "a": [1, 2,], /* in between */ "b": { "c": null, }, }\n// last';
  expect(parseJsonc(text)).toEqual({ ok: true, value: { a: [1, 2], b: { c: null } } });
});

test("a key named __proto__ is a key like any other", () => {
  const parsed = parseJsonc('{ "__proto__": { "mode": "auto" } }');
  expect(parsed.ok && Object.keys(parsed.value ?? {})).toEqual(["__proto__"]);
});

const broken: [text: string, problem: string][] = [
  ["", "1:1: a value is expected"],
  ["// nothing\n", "2:1: a value is expected"],
  ['{\n  "a": 1\n  "b": 2\n}', "3:3: a comma is expected"],
  ['{\r\n"a" 1}', "2:5: a colon is expected"],
  ['{ "é😀": x }', "1:9: this is no JSON (a text needs double quotes)"],
  ["{ a: 1 }", "1:3: this is no JSON (a text needs double quotes)"],
  ['{ "a": 1', '1:9: a closing "}" is expected'],
  ["[1", '1:3: a closing "]" is expected'],
  ['{ "a": "x', "1:8: a text has no closing quote"],
  ["{} {}", "1:4: the end of the file is expected"],
  ["{} /* x", "1:4: a comment has no end"],
  ['{ "a": "\\q" }', "1:8: there is no such escape"],
  ['{ "a": 1, "b": { "c": 1, "c": 2 } }', '1:26: the key "c" is there twice'],
  ["[".repeat(200_000), "it is nested too deeply"],
];

test.each(broken)("broken JSON is named with line and column: %.30j", (text, problem) => {
  expect(parseJsonc(text)).toEqual({ ok: false, problem });
});
