import { expect, test } from "bun:test";
import { parsePatch } from "../../lib/tools/patch.ts";

const body = "*** Add File: a.txt\n+one";
const patch = `*** Begin Patch\n${body}\n*** End Patch`;
const added = [{ kind: "add", path: "a.txt", lines: ["one"] }];

const wrapped: [what: string, text: string][] = [
  ["nothing around it", patch],
  ["a line end after it", `${patch}\n`],
  ["blank lines and blanks around it", `\n\n${patch.replace("End Patch", "End Patch  ")}\n \n`],
  ["CRLF throughout", patch.replaceAll("\n", "\r\n")],
  ["a fence around it", `\`\`\`\n${patch}\n\`\`\``],
  ["a fence with a language", `\`\`\`diff\n${patch}\n\`\`\`\n`],
  ["a here-document", `<<'EOF'\n${patch}\nEOF\n`],
  ["a command with a here-document", `apply_patch <<"PATCH"\n${patch}\nPATCH`],
  ["a command with a here-document in a fence", `\`\`\`bash\napply_patch <<EOF\n${patch}\nEOF\n\`\`\``],
];

test.each(wrapped)("a patch with %s is read", (_, text) => {
  expect(parsePatch(text)).toMatchObject(added);
});

test("all kinds of sections are read", () => {
  const sections = parsePatch(
    [
      "*** Begin Patch",
      "*** Add File: dir/new file.txt",
      "+",
      "++ plus",
      "",
      "*** Delete File: gone.txt",
      "*** Update File: a.ts",
      "*** Move to: b.ts",
      "@@ class A @@",
      "@@   f()",
      " stays",
      "-*** goes",
      "+comes",
      "*** End of File",
      "",
      "*** Update File: moved.ts",
      "*** Move to: elsewhere.ts",
      "*** Add File: empty",
      "*** End Patch",
    ].join("\n"),
  );
  expect(sections).toMatchObject([
    { kind: "add", path: "dir/new file.txt", line: 2, lines: ["", "+ plus"] },
    { kind: "delete", path: "gone.txt", line: 6 },
    {
      kind: "update",
      path: "a.ts",
      moveTo: "b.ts",
      hunks: [
        {
          line: 9,
          headers: ["class A", "f()"],
          isEnd: true,
          lines: [
            { mark: " ", text: "stays" },
            { mark: "-", text: "*** goes" },
            { mark: "+", text: "comes" },
          ],
        },
      ],
    },
    { kind: "update", path: "moved.ts", moveTo: "elsewhere.ts", hunks: [] },
    { kind: "add", path: "empty", lines: [] },
  ]);
});

test("updates of one file are one, wherever they stand, and hunks without lines are none", () => {
  const text = update(
    "@@ f",
    "-a",
    "@@",
    "*** Add File: b",
    "+b",
    "*** End of File",
    "*** Update File: a",
    "@@",
    "-c",
    "",
  );
  expect(parsePatch(text)).toMatchObject([
    {
      kind: "update",
      path: "a",
      hunks: [
        { line: 3, headers: ["f"], lines: [{ mark: "-", text: "a" }] },
        { line: 10, headers: [], lines: [{ mark: "-", text: "c" }] },
      ],
    },
    { kind: "add", path: "b", lines: ["b"] },
  ]);
});

const update = (...lines: string[]) => ["*** Begin Patch", "*** Update File: a", ...lines, "*** End Patch"].join("\n");

const faults: [what: string, text: string, says: string][] = [
  ["nothing", "", 'begins with the line "*** Begin Patch", found ""'],
  ["a unified diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 'found "--- a/x"'],
  ["no end", "*** Begin Patch\n*** Add File: a\n+x\n", 'no line "*** End Patch": it may have been cut off'],
  ["text before it", `Here it is:\n${patch}`, '"Here it is:" stands before'],
  ["text after it", `${patch}\nDone.`, '"Done." stands before'],
  ["two patches", `${patch}\n${patch}`, "Send one patch and nothing else"],
  ["the end of another here-document", `<<EOF\n${patch}\nPATCH`, '"PATCH" stands before'],
  ["no files", "*** Begin Patch\n*** End Patch", "The patch has no files"],
  [
    "a line outside of a file",
    "*** Begin Patch\nx\n*** End Patch",
    'Line 2 of the patch, "x", cannot stand there: expected',
  ],
  ["an unknown section", "*** Begin Patch\n*** Rename File: a\n*** End Patch", "cannot stand there"],
  [
    "a new file without plus",
    "*** Begin Patch\n*** Add File: a\none\n*** End Patch",
    'every line of a new file begins with "+"',
  ],
  [
    "a gap in a new file",
    "*** Begin Patch\n*** Add File: a\n+one\n\n+two\n*** End Patch",
    'Line 5 of the patch, "+two", cannot',
  ],
  ["something below a deletion", "*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "nothing may follow"],
  ["no path", "*** Begin Patch\n*** Delete File: \n*** End Patch", "Line 2 of the patch names no file."],
  ["no path to move to", update("*** Move to: ", "@@", "-a"), "names no file"],
  ["a move after a hunk", update("@@", "-a", "*** Move to: b"), "in a hunk a line begins with"],
  ["two moves", update("*** Move to: b", "*** Move to: c"), "cannot stand there"],
  ["an update without hunks", update(), 'nothing about what to change in "a"'],
  ["an update without lines", update("@@ f"), 'nothing about what to change in "a"'],
  [
    "a line without a mark",
    update("@@", "-a", "b"),
    'Line 5 of the patch, "b", cannot stand there: in a hunk a line begins',
  ],
  ["a tab for a mark", update("@@", "\ta", "-b"), "in a hunk a line begins"],
  [
    "a line after the end of the file",
    update("@@", "-a", "*** End of File", "+b"),
    'expected "@@" after "*** End of File"',
  ],
  ["a long line", update("@@", "x".repeat(500)), `"${"x".repeat(79)}…"`],
];

test.each(faults)("a patch with %s is refused in one sentence", (_, text, says) => {
  const parsed = parsePatch(text);
  expect(parsed).toEqual({ fault: expect.stringContaining(says) });
});
