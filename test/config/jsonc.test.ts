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
  ["", "1:1: expected a value"],
  ["// nothing\n", "2:1: expected a value"],
  ['{\n  "a": 1\n  "b": 2\n}', "3:3: expected a comma"],
  ['{\r\n"a" 1}', "2:5: expected a colon"],
  ['{ "é😀": x }', "1:9: not valid JSON (strings need double quotes)"],
  ["{ a: 1 }", "1:3: not valid JSON (strings need double quotes)"],
  ['{ "a": 1', '1:9: expected "}"'],
  ["[1", '1:3: expected "]"'],
  ['{ "a": "x', "1:8: unterminated string"],
  ["{} {}", "1:4: expected the end of the file"],
  ["{} /* x", "1:4: unterminated comment"],
  ['{ "a": "\\q" }', "1:8: invalid escape sequence"],
  ['{ "a": 1, "b": { "c": 1, "c": 2 } }', '1:26: duplicate key "c"'],
  ["[".repeat(200_000), "it is nested too deeply"],
];

test.each(broken)("broken JSON is named with line and column: %.30j", (text, problem) => {
  expect(parseJsonc(text)).toEqual({ ok: false, problem });
});
