import { describe, expect, test } from "bun:test";
import { array, assert, boolean, constantFrom, nat, pre, property } from "fast-check";
import { applyHunks } from "../../lib/tools/hunks.ts";
import { parsePatch } from "../../lib/tools/patch.ts";
import type { Mistake } from "../../lib/tools/replace.ts";
import { cpuTime } from "../support/cputime.ts";

/** Applies the hunks of one file, as they stand in a patch. */
function applied(original: string, hunks: string) {
  const sections = parsePatch(`*** Begin Patch\n*** Update File: a\n${hunks}\n*** End Patch`);
  if ("fault" in sections) throw new Error(sections.fault);
  return applyHunks(
    original,
    sections.flatMap((section) => (section.kind === "update" ? section.hunks : [])),
  );
}

const code =
  "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n";

const good: [what: string, original: string, hunks: string, result: string][] = [
  ["a line", "1\n2\n3\n", "@@\n 1\n-2\n+two\n 3", "1\ntwo\n3\n"],
  ["a line without a header", "1\n2\n3\n", "-2\n+two", "1\ntwo\n3\n"],
  ["several hunks", "1\n2\n3\n4\n", "@@\n-1\n+one\n@@\n-4\n+four", "one\n2\n3\nfour\n"],
  ["hunks in another order than the file's", "1\n2\n3\n4\n", "@@\n-4\n+four\n@@\n-1\n+one", "one\n2\n3\nfour\n"],
  ["hunks that share their context", "1\n2\n3\n", "@@\n-1\n+one\n 2\n@@\n 2\n-3\n+three", "one\n2\nthree\n"],
  [
    "neighbours: an insertion before a line that another hunk changes",
    "1\n2\n",
    "@@\n-2\n+two\n@@\n 1\n+1.5",
    "1\n1.5\ntwo\n",
  ],
  ["several changes in one hunk", "1\n2\n3\n4\n5\n", "@@\n-1\n+one\n 2\n 3\n+3.5\n 4\n-5", "one\n2\n3\n3.5\n4\n"],
  ["lines that are added before and after", "1\n", "@@\n+0\n 1\n+2", "0\n1\n2\n"],
  ["lines that only go", "1\n2\n3\n", "@@\n 1\n-2\n 3", "1\n3\n"],
  ["all lines", "1\n2\n", "@@\n-1\n-2", ""],
  ["an empty context line without its blank", "1\n\n3\n", "@@\n 1\n\n-3\n+three", "1\n\nthree\n"],
  ["an empty line between hunks", "1\n2\n3\n", "@@\n-1\n+one\n\n@@\n-3\n+three\n", "one\n2\nthree\n"],
  [
    "the method of a class",
    code,
    "@@ class B:\n@@     def f(self):\n-        return 1\n+        return 2",
    code.replace(/1\n$/, "2\n"),
  ],
  [
    "a function among others",
    code,
    "@@ def g(self):\n-        return 1\n+        return 2",
    code.replace(/(g.*\n.*)1/, "$12"),
  ],
  [
    "a header that is shorter than its line",
    code,
    "@@ class B\n-        return 1\n+        return 2",
    code.replace(/1\n$/, "2\n"),
  ],
  [
    "a header that is the first line itself",
    code,
    "@@ class B:\n class B:\n-    def f(self):\n+    def h(self):",
    code.replace("B:\n    def f", "B:\n    def h"),
  ],
  [
    "a unique place below the end of the header's block",
    "def f():\n  pass\n\nx = 1\n",
    "@@ def f():\n-x = 1\n+x = 2",
    "def f():\n  pass\n\nx = 2\n",
  ],
  [
    "a block that goes on after a bracket at its own depth",
    "f(\n a,\n)\n x\ng\n x\n",
    "@@ f(\n- x\n+ y",
    "f(\n a,\n)\n y\ng\n x\n",
  ],
  ["abbreviated line numbers", "1\n2\n", "@@ -2 +2 @@\n-2\n+two", "1\ntwo\n"],
  [
    "line numbers of a unified diff, which say nothing",
    "1\n2\n",
    "@@ -7,3 +9,4 @@ def nothing():\n-2\n+two",
    "1\ntwo\n",
  ],
  ["blanks at the end that differ, the file's own staying", "a  \nb\t\nc\n", "@@\n a\n-b\n+B\n c ", "a  \nB\nc\n"],
  ["the exact line where another differs in blanks", "a \na\n", "@@\n-a\n+b", "a \nb\n"],
  ["the end of a file", "x\ny\nx\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n"],
  ["the end of a file that ends in empty lines", "x\ny\nx\n\n\n", "@@\n-x\n+z\n*** End of File", "x\ny\nz\n\n\n"],
  [
    "the end of a file after a thousand lines like it",
    "}\n".repeat(1500),
    "@@\n }\n+end\n*** End of File",
    `${"}\n".repeat(1500)}end\n`,
  ],
  [
    "a line below its header after a thousand lines like it",
    `def f():\n${"    x\n".repeat(1500)}def g():\n    x\n`,
    "@@ def g():\n-    x\n+    y",
    `def f():\n${"    x\n".repeat(1500)}def g():\n    y\n`,
  ],
  ["lines that are appended", "1\n", "@@\n+2\n+3\n*** End of File", "1\n2\n3\n"],
  ["lines that are appended after context", "1\n2\n", "@@\n 2\n+3\n*** End of File", "1\n2\n3\n"],
  ["lines put into an empty file", "", "@@\n+1\n+2", "1\n2\n"],
  ["the last line without a line end", "1\n2", "@@\n-2\n+two", "1\ntwo"],
  ["lines appended to one without a line end", "1", "@@\n 1\n+2\n+3", "1\n2\n3"],
  ["a last line that goes and had no line end", "1\n2", "@@\n 1\n-2", "1\n"],
  ["CRLF", "1\r\n2\r\n3\r\n", "@@\n 1\n-2\n+two\n+2.5", "1\r\ntwo\r\n2.5\r\n3\r\n"],
  ["CRLF that the patch has too", "1\r\n2\r\n", "@@\n 1\r\n-2\r\n+two\r", "1\r\ntwo\r\n"],
  ["lines appended to CRLF", "1\r\n", "@@\n+2\n*** End of File", "1\r\n2\r\n"],
  ["a file with both line ends, each where it is", "1\r\n2\n3\n", "@@\n-1\n+one\n@@\n-3\n+three", "one\r\n2\nthree\n"],
  ["the first line after a BOM", "\u00ef\u00bb\u00bf1\n2\n", "@@\n-1\n+one\n 2", "\u00ef\u00bb\u00bfone\n2\n"],
  ["a line before the first, after a BOM", "\u00ef\u00bb\u00bf1\n", "@@\n+0\n 1", "\u00ef\u00bb\u00bf0\n1\n"],
  ["lines that look like markers", "@@\n+a\n*** x\n", "@@\n @@\n-+a\n+-b\n *** x", "@@\n-b\n*** x\n"],
];

test.each(good)("applies %s", (_, original, hunks, result) => {
  expect(applied(original, hunks)).toMatchObject({ text: result });
});

const bad: [what: string, original: string, hunks: string, mistakes: Mistake[]][] = [
  ["lines that are not there", "1\n", "@@\n-2\n+two", [{ kind: "absent", edit: 0 }]],
  ["lines that do not follow each other", "1\n2\n3\n", "@@\n 1\n-3\n+x", [{ kind: "absent", edit: 0 }]],
  ["a part of a line", "one two\n", "@@\n-one\n+1", [{ kind: "absent", edit: 0 }]],
  ["another indentation", "  a\n", "@@\n-a\n+b", [{ kind: "absent", edit: 0 }]],
  ["another quotation mark", "a \u2019 b\n", "@@\n-a ' b\n+c", [{ kind: "absent", edit: 0 }]],
  ["two places", "x\ny\nx\n", "@@\n-x\n+z", [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 3] }]],
  [
    "two places but for blanks",
    "x \ny\nx\t\n",
    "@@\n-x\n+z",
    [{ kind: "ambiguous", edit: 0, count: 2, lines: [1, 3] }],
  ],
  [
    "two places below one header",
    "f\n x\n x\n",
    "@@ f\n- x\n+ y",
    [{ kind: "ambiguous", edit: 0, count: 2, lines: [2, 3] }],
  ],
  [
    "two blocks with the same header",
    code,
    "@@ def f(self):\n-        return 1\n+        return 2",
    [{ kind: "ambiguous", edit: 0, count: 2, lines: [3, 10] }],
  ],
  ["a header that is not there", "1\n", "@@ def f\n-1\n+2", [{ kind: "header", edit: 0, header: "def f" }]],
  [
    "a header that comes after the lines",
    "1\ndef f\n",
    "@@ def f\n-1\n+2",
    [{ kind: "header", edit: 0, header: "def f" }],
  ],
  [
    "a header of which only a part of a word is there",
    "define\n 1\n",
    "@@ def\n- 1\n+ 2",
    [{ kind: "header", edit: 0, header: "def" }],
  ],
  ["lines that are only added, nowhere", "1\n", "@@\n+2", [{ kind: "unplaced", edit: 0 }]],
  ["lines that are only added, below a header", "f\n 1\n", "@@ f\n+ 2", [{ kind: "unplaced", edit: 0 }]],
  [
    "an end of file elsewhere",
    "1\n2\n",
    "@@\n-1\n+x\n*** End of File",
    [{ kind: "not at the end", edit: 0, lines: [1] }],
  ],
  ["a hunk that changes nothing", "1\n", "@@\n 1", [{ kind: "same", edit: 0 }]],
  ["two changes of one line", "1\n", "@@\n-1\n+a\n@@\n-1\n+b", [{ kind: "overlap", edit: 0, other: 1, line: 1 }]],
  [
    "two insertions at one place",
    "1\n2\n",
    "@@\n 1\n+a\n@@\n 1\n+b",
    [{ kind: "overlap", edit: 0, other: 1, line: 2 }],
  ],
  [
    "every mistake at once",
    "1\n2\n",
    "@@\n-x\n+a\n@@\n-2\n+b\n@@\n-y\n+c",
    [
      { kind: "absent", edit: 0 },
      { kind: "absent", edit: 2 },
    ],
  ],
];

test.each(bad)("refuses %s", (_, original, hunks, mistakes) => {
  expect(applied(original, hunks)).toEqual(mistakes);
});

describe("whatever the lines are", () => {
  const line = constantFrom("a", "b", "", "  a", "}", "a ", "def f():");
  const lines = array(line, { minLength: 1, maxLength: 12 });
  const end = constantFrom("\n", "\r\n");

  test("a hunk changes the place that it was made for, or nothing", () => {
    assert(
      property(lines, end, nat(11), nat(3), nat(2), boolean(), (all, eol, at, gone, context, isEnded) => {
        const start = at % all.length;
        const stop = Math.min(all.length, start + gone);
        const [from, to] = [Math.max(0, start - context), Math.min(all.length, stop + context)];
        const hunk = [
          ...all.slice(from, start).map((text) => ` ${text}`),
          ...all.slice(start, stop).map((text) => `-${text}`),
          "+new",
          ...all.slice(stop, to).map((text) => ` ${text}`),
        ];
        const join = (text: readonly string[]) => text.join(eol) + (isEnded ? eol : "");
        const original = join(all);
        // A text whose last line is empty has one line less, and one line alone does not tell its line ends.
        pre(isEnded || (all.at(-1) !== "" && all.length > 1));
        const result = applied(original, ["@@", ...hunk].join("\n"));
        if ("text" in result) expect(result.text).toBe(join([...all.slice(0, start), "new", ...all.slice(stop)]));
      }),
      { numRuns: 2000 },
    );
  });
});

test("a hundred thousand lines and a thousand hunks take no more than a moment", () => {
  const original = Array.from({ length: 100_000 }, (_, at) => `line ${at}\n}\n`).join("");
  const hunks = Array.from({ length: 1000 }, (_, at) => `@@\n line ${at * 97}\n-}\n+];`).join("\n");
  const startedAt = cpuTime();
  expect(applied(original, hunks)).toMatchObject({ count: 1000 });
  expect(cpuTime() - startedAt).toBeLessThan(10_000);
});
