import { describe, expect, test } from "bun:test";
import { replaceIn, type Edit, type Mistake } from "../../lib/tools/replace.ts";

/** Edits as pairs: an old text and its new one. */
function edits(...texts: string[]): Edit[] {
  return texts.flatMap((old, index) => (index % 2 === 0 ? [{ old, new: texts[index + 1] ?? "" }] : []));
}

const all = true;
const everywhere = (old: string, to: string): Edit[] => [{ old, new: to, all }];

const good: [what: string, original: string, edits: Edit[], result: string][] = [
  ["one place", "a b c", edits("b", "x"), "a x c"],
  ["the start and the end", "abc", edits("a", "1", "c", "3"), "1b3"],
  ["the whole text", "abc", edits("abc", ""), ""],
  ["several edits in any order", "a b c", edits("c", "3", "a", "1"), "1 b 3"],
  ["neighbours that touch", "abcd", edits("ab", "1", "cd", "2"), "12"],
  ["every place with all", "x.x.x", everywhere("x", "yy"), "yy.yy.yy"],
  ["all where there is one", "x", everywhere("x", "y"), "y"],
  ["all does not overlap itself", "aaaaa", everywhere("aa", "b"), "bba"],
  ["the original, not what another edit made", "a b", edits("a", "b", "b", "a"), "b a"],
  ["patterns of a replacement mean nothing", "a", edits("a", "$& $1 $$"), "$& $1 $$"],
  ["several lines", "1\n2\n3\n", edits("1\n2\n", "12\n"), "12\n3\n"],
  ["LF in a CRLF file", "1\r\n2\r\n3\r\n", edits("1\n2", "x\ny\nz"), "x\r\ny\r\nz\r\n3\r\n"],
  ["CRLF in a CRLF file", "1\r\n2\r\n", edits("1\r\n2", "x\r\ny"), "x\r\ny\r\n"],
  ["new lines within a CRLF line", "one\r\ntwo\r\n", edits("two", "2\n3"), "one\r\n2\r\n3\r\n"],
  ["new lines in the last, unended line of a CRLF file", "one\r\ntwo", edits("two", "2\n3"), "one\r\n2\r\n3"],
  ["a line end of a CRLF file goes whole", "1\r\n2\r\n", edits("1\n", ""), "2\r\n"],
  ["an edit that ends before a CRLF leaves it", "1\r\n2\r\n", edits("1", "x"), "x\r\n2\r\n"],
  ["an edit that begins at a CRLF takes it whole", "1\r\n2", edits("\n2", ";2"), "1;2"],
  [
    "each place of a mixed file keeps its line ends",
    "1\r\n2\n3\r\n",
    edits("1", "a\nb", "2", "c\nd"),
    "a\r\nb\r\nc\nd\n3\r\n",
  ],
  ["over both kinds of line end", "1\r\n2\n3", edits("1\n2\n3", "x"), "x"],
  ["the rest of a mixed file", "k\r\nl\nx\r\nm\n", edits("x", "y"), "k\r\nl\ny\r\nm\n"],
  ["a lone CR stays what it is", "a\rb\r\nc", edits("a\rb", "d"), "d\r\nc"],
  ["a doubled CR too", "a\r\r\nb\r\n", edits("b", "c"), "a\r\r\nc\r\n"],
  ["a CRLF put into an LF file on purpose", "a\nb\n", edits("a\n", "a\r\n"), "a\r\nb\n"],
  ["a BOM", "\uFEFFone\n", edits("one", "two"), "\uFEFFtwo\n"],
];

test.each(good)("replaces %s", (_, original, edits, result) => {
  expect(replaceIn(original, edits)).toMatchObject({ text: result });
});

const bad: [what: string, original: string, edits: Edit[], mistakes: Mistake[]][] = [
  ["an absent text", "abc", edits("x", "y"), [{ kind: "absent", edit: 0 }]],
  ["another case", "abc", edits("ABC", "y"), [{ kind: "absent", edit: 0 }]],
  ["an absent text with all", "abc", everywhere("x", "y"), [{ kind: "absent", edit: 0 }]],
  ["an empty old", "abc", edits("", "y"), [{ kind: "empty", edit: 0 }]],
  ["an empty old in an empty file", "", edits("", "y"), [{ kind: "empty", edit: 0 }]],
  ["no change", "abc", edits("b", "b"), [{ kind: "same", edit: 0 }]],
  ["no change but for line ends in a CRLF file", "a\r\nb", edits("a\nb", "a\r\nb"), [{ kind: "same", edit: 0 }]],
  ["two places", "x\ny\nx\n", edits("x", "z"), [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 3] }]],
  ["overlapping places", "aaa", edits("aa", "z"), [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 1] }]],
  ["two edits of one place", "a\nbcd", edits("bc", "x", "cd", "y"), [{ kind: "overlap", edit: 0, other: 1, line: 2 }]],
  ["one edit within another", "abcd", edits("c", "y", "abcd", "x"), [{ kind: "overlap", edit: 1, other: 0, line: 1 }]],
  ["the same edit twice", "ab", edits("a", "x", "a", "x"), [{ kind: "overlap", edit: 0, other: 1, line: 1 }]],
  [
    "every mistake at once",
    "abc",
    edits("b", "x", "q", "y", "", ""),
    [
      { kind: "absent", edit: 1 },
      { kind: "empty", edit: 2 },
    ],
  ],
];

test.each(bad)("refuses %s", (_, original, edits, mistakes) => {
  expect(replaceIn(original, edits)).toEqual(mistakes);
});

test("the replacements of all are counted", () => {
  expect(
    replaceIn("x.x", [
      { old: "x", new: "y", all },
      { old: ".", new: "," },
    ]),
  ).toEqual({ text: "y,y", count: 3 });
});

describe("on large texts", () => {
  test("a replacement of everything in a megabyte of CRLF lines is exact", () => {
    const original = "some line\r\n".repeat(100_000);
    const result = replaceIn(original, everywhere("line\n", "row\n"));
    expect(result).toEqual({ text: "some row\r\n".repeat(100_000), count: 100_000 });
  });

  test("a letter that occurs a million times is ambiguous without counting them all", () => {
    const result = replaceIn("a".repeat(1_000_000), edits("a", "b"));
    expect(result).toMatchObject([{ kind: "ambiguous", count: 1000 }]);
  });
});
