import { expect, test } from "bun:test";
import { compilePattern } from "../../../lib/tools/search/dialect.ts";

const faults: [pattern: string, message: string, at: number][] = [
  ["foo(", "unclosed group", 3],
  ["(a(b)", "unclosed group", 0],
  ["foo)", "unmatched )", 3],
  ["[abc", "unclosed class", 0],
  ["x[^", "unclosed class", 1],
  ["[z-a]", "range out of order in a class", 1],
  ["[a-\\d]", "a range ends with one character", 1],
  ["[a&&b]", "&& in a class is not supported", 2],
  ["[[:nope:]]", 'unknown class "[:nope:]"', 1],
  ["*a", "nothing to repeat before *", 0],
  ["(+)", "nothing to repeat before +", 1],
  ["a|{2}", "nothing to repeat before {2}", 2],
  ["^*", "nothing to repeat before *", 1],
  ["a**", "* after another quantifier", 2],
  ["a++", "+ after another quantifier", 2],
  ["x{3,1}", "numbers out of order in the quantifier", 1],
  ["x{2000}", "more than 1000 repetitions", 1],
  ["a\\", "nothing follows the backslash", 1],
  ["a\\nb", "a match never spans lines", 1],
  ["a\nb", "a match never spans lines", 1],
  ["\\hx", "unknown escape \\h", 0],
  ["\\x{110000}", "bad character number after \\x", 0],
  ["\\u12", "bad character number after \\u", 0],
  ["é\\p{Nope}", 'unknown character property "Nope"', 1],
  ["(?x) a", "the flag x is not supported", 0],
  ["(?<1>a)", "bad group name", 0],
  ["(?>a)", "unknown kind of group", 0],
];

test.each(faults)("%p is refused, with the place where it goes wrong", (pattern, message, at) => {
  expect(compilePattern(pattern, false)).toEqual({ message, at });
});

test("what goes wrong at no single place is refused too", () => {
  expect(compilePattern("(a)\\2", false)).toEqual({ message: "invalid backreference for Unicode pattern" });
  expect(compilePattern("(?<a>.)(?<a>.)", false)).toHaveProperty("message");
});

test("every character of ASCII that is no letter or digit stands for itself when it is escaped", () => {
  const chars = Array.from({ length: 0x5f }, (_, index) => String.fromCharCode(0x20 + index));
  for (const char of chars.filter((char) => !/[A-Za-z0-9]/.test(char))) {
    // These two are the borders of a word.
    const patterns = /[<>]/.test(char) ? [`[\\${char}]`] : [`\\${char}`, `[\\${char}]`, `[^\\${char}]`];
    const matches = patterns.map((pattern) => {
      const regex = compilePattern(`^${pattern}$`, false);
      return regex instanceof RegExp && regex.test(char);
    });
    expect([char, ...matches]).toEqual([char, true, true, false].slice(0, matches.length + 1));
  }
});
