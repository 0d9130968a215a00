import { describe, expect, test } from "bun:test";
import { replaceIn, type Edit, type Mistake } from "../../lib/tools/replace.ts";

const all = true;

const good: [what: string, original: string, edits: Edit[], result: string][] = [
  ["one place", "a b c", [{ old: "b", new: "x" }], "a x c"],
  [
    "the start and the end",
    "abc",
    [
      { old: "a", new: "1" },
      { old: "c", new: "3" },
    ],
    "1b3",
  ],
  ["the whole text", "abc", [{ old: "abc", new: "" }], ""],
  [
    "several edits in any order",
    "a b c",
    [
      { old: "c", new: "3" },
      { old: "a", new: "1" },
    ],
    "1 b 3",
  ],
  [
    "neighbours that touch",
    "abcd",
    [
      { old: "ab", new: "1" },
      { old: "cd", new: "2" },
    ],
    "12",
  ],
  ["every place with all", "x.x.x", [{ old: "x", new: "yy", all }], "yy.yy.yy"],
  ["all where there is one", "x", [{ old: "x", new: "y", all }], "y"],
  ["all does not overlap itself", "aaaaa", [{ old: "aa", new: "b", all }], "bba"],
  [
    "the original, not what another edit made",
    "a b",
    [
      { old: "a", new: "b" },
      { old: "b", new: "a" },
    ],
    "b a",
  ],
  ["patterns of a replacement mean nothing", "a", [{ old: "a", new: "$& $1 $$" }], "$& $1 $$"],
  ["several lines", "1\n2\n3\n", [{ old: "1\n2\n", new: "12\n" }], "12\n3\n"],
  ["LF in a CRLF file", "1\r\n2\r\n3\r\n", [{ old: "1\n2", new: "x\ny\nz" }], "x\r\ny\r\nz\r\n3\r\n"],
  ["CRLF in a CRLF file", "1\r\n2\r\n", [{ old: "1\r\n2", new: "x\r\ny" }], "x\r\ny\r\n"],
  ["new lines within a CRLF line", "one\r\ntwo\r\n", [{ old: "two", new: "2\n3" }], "one\r\n2\r\n3\r\n"],
  ["new lines in the last, unended line of a CRLF file", "one\r\ntwo", [{ old: "two", new: "2\n3" }], "one\r\n2\r\n3"],
  ["a line end of a CRLF file goes whole", "1\r\n2\r\n", [{ old: "1\n", new: "" }], "2\r\n"],
  ["an edit that ends before a CRLF leaves it", "1\r\n2\r\n", [{ old: "1", new: "x" }], "x\r\n2\r\n"],
  ["an edit that begins at a CRLF takes it whole", "1\r\n2", [{ old: "\n2", new: ";2" }], "1;2"],
  [
    "each place of a mixed file keeps its line ends",
    "1\r\n2\n3\r\n",
    [
      { old: "1", new: "a\nb" },
      { old: "2", new: "c\nd" },
    ],
    "a\r\nb\r\nc\nd\n3\r\n",
  ],
  ["over both kinds of line end", "1\r\n2\n3", [{ old: "1\n2\n3", new: "x" }], "x"],
  ["the rest of a mixed file", "k\r\nl\nx\r\nm\n", [{ old: "x", new: "y" }], "k\r\nl\ny\r\nm\n"],
  ["a lone CR stays what it is", "a\rb\r\nc", [{ old: "a\rb", new: "d" }], "d\r\nc"],
  ["a doubled CR too", "a\r\r\nb\r\n", [{ old: "b", new: "c" }], "a\r\r\nc\r\n"],
  ["a CRLF put into an LF file on purpose", "a\nb\n", [{ old: "a\n", new: "a\r\n" }], "a\r\nb\n"],
  ["a BOM", "\uFEFFone\n", [{ old: "one", new: "two" }], "\uFEFFtwo\n"],
];

test.each(good)("replaces %s", (_, original, edits, result) => {
  expect(replaceIn(original, edits)).toMatchObject({ text: result });
});

const bad: [what: string, original: string, edits: Edit[], mistakes: Mistake[]][] = [
  ["an absent text", "abc", [{ old: "x", new: "y" }], [{ kind: "absent", edit: 0 }]],
  ["another case", "abc", [{ old: "ABC", new: "y" }], [{ kind: "absent", edit: 0 }]],
  ["an absent text with all", "abc", [{ old: "x", new: "y", all }], [{ kind: "absent", edit: 0 }]],
  ["an empty old", "abc", [{ old: "", new: "y" }], [{ kind: "empty", edit: 0 }]],
  ["an empty old in an empty file", "", [{ old: "", new: "y" }], [{ kind: "empty", edit: 0 }]],
  ["no change", "abc", [{ old: "b", new: "b" }], [{ kind: "same", edit: 0 }]],
  [
    "no change but for line ends in a CRLF file",
    "a\r\nb",
    [{ old: "a\nb", new: "a\r\nb" }],
    [{ kind: "same", edit: 0 }],
  ],
  ["two places", "x\ny\nx\n", [{ old: "x", new: "z" }], [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 3] }]],
  ["overlapping places", "aaa", [{ old: "aa", new: "z" }], [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 1] }]],
  [
    "two edits of one place",
    "a\nbcd",
    [
      { old: "bc", new: "x" },
      { old: "cd", new: "y" },
    ],
    [{ kind: "overlap", edit: 0, other: 1, line: 2 }],
  ],
  [
    "one edit within another",
    "abcd",
    [
      { old: "c", new: "y" },
      { old: "abcd", new: "x" },
    ],
    [{ kind: "overlap", edit: 1, other: 0, line: 1 }],
  ],
  [
    "the same edit twice",
    "ab",
    [
      { old: "a", new: "x" },
      { old: "a", new: "x" },
    ],
    [{ kind: "overlap", edit: 0, other: 1, line: 1 }],
  ],
  [
    "every mistake at once",
    "abc",
    [
      { old: "b", new: "x" },
      { old: "q", new: "y" },
      { old: "", new: "" },
    ],
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
    const result = replaceIn(original, [{ old: "line\n", new: "row\n", all }]);
    expect(result).toEqual({ text: "some row\r\n".repeat(100_000), count: 100_000 });
  });

  test("a letter that occurs a million times is ambiguous without counting them all", () => {
    const result = replaceIn("a".repeat(1_000_000), [{ old: "a", new: "b" }]);
    expect(result).toMatchObject([{ kind: "ambiguous", count: 1000 }]);
  });
});
