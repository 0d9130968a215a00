import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, readFileSync, statSync, symlinkSync, truncateSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FileLog } from "../../lib/session/files.ts";
import { editTool } from "../../lib/tools/edit.ts";
import { readTool } from "../../lib/tools/read.ts";
import type { Edit } from "../../lib/tools/replace.ts";
import { writeTool } from "../../lib/tools/write.ts";
import { callAsNobody, makeFiles, namesIn, textOf } from "../support/files.ts";
import { isRoot, nobody } from "../support/nobody.ts";
import { swapOnce } from "../support/swap.ts";

/** A project with one file that the model has read. */
async function withRead(content: string | Uint8Array, name = "a.txt") {
  const files = makeFiles();
  const path = files.write(name, content);
  await readTool.run({ path: name }, files.context);
  return {
    ...files,
    path,
    edit: (...edits: Edit[]) => editTool.run({ path: name, edits }, files.context),
    content: () => readFileSync(path, "utf8"),
  };
}

test("a file is edited and the change is shown as a diff", async () => {
  await using files = await withRead("one\ntwo\nthree\n");
  const result = await files.edit({ old: "two", new: "2\n2.5" });
  expect(result).toEqual({
    ok: true,
    parts: [
      { type: "text", text: 'Edited "a.txt": 1 replacement (+2 -1).\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three' },
    ],
  });
  expect(files.content()).toBe("one\n2\n2.5\nthree\n");
  expect(namesIn(files.project)).toEqual(["a.txt"]);
});

test("edits may follow each other, and reading afterwards shows the file anew", async () => {
  await using files = await withRead("one\n");
  expect((await files.edit({ old: "one", new: "two" })).ok).toBe(true);
  expect((await files.edit({ old: "two", new: "three" })).ok).toBe(true);
  expect(textOf(await readTool.run({ path: "a.txt" }, files.context))).toBe("1\tthree");
});

test("a file that this session wrote needs no reading", async () => {
  await using files = makeFiles();
  await writeTool.run({ path: "a.txt", content: "one" }, files.context);
  const result = await editTool.run({ path: "a.txt", edits: [{ old: "one", new: "two" }] }, files.context);
  expect(result.ok).toBe(true);
  expect(readFileSync(join(files.project, "a.txt"), "utf8")).toBe("two");
});

describe("what the file has besides its text is kept", () => {
  test("a BOM and CRLF", async () => {
    await using files = await withRead("\uFEFFone\r\ntwo\r\n");
    const result = await files.edit({ old: "one\ntwo", new: "1\n2\n3" });
    expect(files.content()).toBe("\uFEFF1\r\n2\r\n3\r\n");
    expect(textOf(result)).not.toContain("\r");
  });

  test("bytes that are no UTF-8", async () => {
    await using files = await withRead(Buffer.from([0x63, 0xe9, 0x0a, 0x78, 0x0a, 0xff, 0x0a]));
    expect((await files.edit({ old: "x", new: "é" })).ok).toBe(true);
    expect(readFileSync(files.path)).toEqual(Buffer.from([0x63, 0xe9, 0x0a, 0xc3, 0xa9, 0x0a, 0xff, 0x0a]));
  });

  test("characters beyond ASCII, in what is matched too", async () => {
    await using files = await withRead("日本 😀 e\u0301\n");
    await files.edit({ old: "本 😀", new: "語 🇩🇪" });
    expect(files.content()).toBe("日語 🇩🇪 e\u0301\n");
  });

  test("permission bits", async () => {
    await using files = await withRead("#!/bin/sh\n");
    chmodSync(files.path, 0o755);
    await files.edit({ old: "sh", new: "bash" });
    expect(statSync(files.path).mode & 0o7777).toBe(0o755);
  });

  test("a missing newline at the end", async () => {
    await using files = await withRead("one\ntwo");
    await files.edit({ old: "two", new: "2" });
    expect(files.content()).toBe("one\n2");
  });

  test("the symlink through which it was named", async () => {
    await using files = await withRead("one", "real.txt");
    symlinkSync("real.txt", join(files.project, "link"));
    await editTool.run({ path: "link", edits: [{ old: "one", new: "two" }] }, files.context);
    expect(files.content()).toBe("two");
    expect(namesIn(files.project)).toEqual(["link", "real.txt"]);
  });
});

describe("edits that cannot be made change nothing and say why", () => {
  const source = "function add(a, b) {\n  return a + b;\n}\n\nfunction sub(a, b) {\n  return a - b;\n}\n";
  const rows: [what: string, edits: Edit[], says: string[]][] = [
    [
      "absent",
      [{ old: "  return a * b;", new: "x" }],
      ["edits[0].old was not found. The closest lines are:\n2\t  return a + b;"],
    ],
    [
      "indented otherwise",
      [{ old: "\treturn a - b;", new: "x" }],
      ["Only blanks differ from these lines:\n6\t  return a - b;"],
    ],
    ["nothing like it", [{ old: "class Zebra extends Mammal", new: "x" }], ["Nothing in the file looks like it."]],
    ["with line numbers", [{ old: "2\t  return a + b;\n3\t}", new: "x" }], ["Leave out the line numbers"]],
    [
      "ambiguous",
      [{ old: "return a", new: "x" }],
      ["edits[0].old occurs 2 times (lines 2, 6): include more of the surrounding text, or set all."],
    ],
    ["empty", [{ old: "", new: "x" }], ["edits[0].old is empty"]],
    ["the same", [{ old: "add", new: "add" }], ["edits[0]: old and new are the same."]],
    [
      "overlapping",
      [
        { old: "a + b", new: "x" },
        { old: "+ b;", new: "y" },
      ],
      ["edits[0] and edits[1] overlap at line 2"],
    ],
    [
      "one good, two bad",
      [
        { old: "add", new: "plus" },
        { old: "", new: "x" },
        { old: "retrun a + b", new: "y" },
      ],
      ["edits[1].old is empty", "edits[2].old was not found"],
    ],
  ];

  test.each(rows)("%s", async (_, edits, says) => {
    await using files = await withRead(source);
    const result = await files.edit(...edits);
    expect(result.ok).toBe(false);
    for (const sentence of says) expect(textOf(result)).toContain(sentence);
    expect(textOf(result)).toEndWith('"a.txt" was not changed.');
    expect(files.content()).toBe(source);
  });

  test("edits that undo each other", async () => {
    await using files = await withRead("ab");
    expect(textOf(await files.edit({ old: "a", new: "" }, { old: "b", new: "ab" }))).toContain("would stay as it is");
  });

  test("a long list of mistakes is cut", async () => {
    await using files = await withRead("one");
    const text = textOf(await files.edit(...Array.from({ length: 9 }, (_, i) => ({ old: `q${i}`, new: "x" }))));
    expect(text).toContain("4 more mistakes not shown.");
  });
});

test("a long diff is cut", async () => {
  await using files = await withRead("a line\n".repeat(500));
  const text = textOf(await files.edit({ old: "a line", new: "a row", all: true }));
  expect(text).toStartWith('Edited "a.txt": 500 replacements (+500 -500).\n');
  expect(text).toEndWith("more lines of the diff]");
  expect(text.split("\n")).toHaveLength(62);
});

describe("a file that is not what the model thinks", () => {
  const edits = [{ old: "one", new: "two" }];

  test("was never read", async () => {
    await using files = makeFiles({ "a.txt": "one" });
    const result = await editTool.run({ path: "a.txt", edits }, files.context);
    expect(textOf(result)).toBe('You have not read "a.txt": Read it first.');
    expect(readFileSync(join(files.project, "a.txt"), "utf8")).toBe("one");
  });

  test("changed on disk since, though the edit would fit", async () => {
    await using files = await withRead("one\n");
    files.write("a.txt", "one\nmore\n");
    const result = await files.edit(...edits);
    expect(textOf(result)).toBe('"a.txt" changed on disk since you last saw it: Read it again.');
    expect(files.content()).toBe("one\nmore\n");
    await readTool.run({ path: "a.txt" }, files.context);
    expect((await files.edit(...edits)).ok).toBe(true);
  });

  test("changed after only a part of it was read", async () => {
    await using files = makeFiles({ "a.txt": "one\ntwo\n" });
    await readTool.run({ path: "a.txt", num_lines: 1 }, files.context);
    files.write("a.txt", "one\n2\n");
    expect(textOf(await editTool.run({ path: "a.txt", edits }, files.context))).toContain("changed on disk");
  });

  test("changes while the edit is made: what somebody else wrote stays", async () => {
    await using files = await withRead("one\n");
    const log: FileLog = {
      ...files.context.files,
      hasChanged(path, content) {
        const changed = files.context.files.hasChanged(path, content);
        files.write("a.txt", "theirs\n");
        return changed;
      },
    };
    const result = await editTool.run({ path: "a.txt", edits }, { ...files.context, files: log });
    expect(result.ok).toBe(false);
    expect(textOf(result)).toContain("was replaced by something else meanwhile");
    expect(files.content()).toBe("theirs\n");
    expect(namesIn(files.project)).toEqual(["a.txt"]);
  });

  test("vanished", async () => {
    await using files = await withRead("one\n");
    unlinkSync(files.path);
    const result = await files.edit(...edits);
    expect(textOf(result)).toBe('"a.txt" does not exist. To make a new file use Write.');
  });

  test("is a directory, or binary by now, or has grown too large", async () => {
    await using files = await withRead("one\n");
    expect(textOf(await editTool.run({ path: ".", edits }, files.context))).toContain("it is a directory");
    files.write("a.txt", "one\0");
    files.context.files.saw(files.path, "one\0");
    expect(textOf(await files.edit(...edits))).toContain("it is not text");
    truncateSync(files.path, 17 * 1024 * 1024);
    expect(textOf(await files.edit(...edits))).toContain("larger than 16 MiB");
  });
});

describe("where nothing may be written", () => {
  const edits = [{ old: "one", new: "two" }];

  test("an edit is denied like a write", async () => {
    await using outside = makeFiles({ "o.txt": "one" });
    await using files = makeFiles({ ".git/config": "one", "sub/.koda/x": "one" });
    symlinkSync(outside.project, join(files.project, "out"));
    for (const path of [join(outside.project, "o.txt"), "out/o.txt", ".git/config", "sub/.koda/x"]) {
      await readTool.run({ path }, files.context);
      const { outside: why } = editTool.claim({ path, edits }, files.context);
      expect(why).toBeString();
      expect(await editTool.run({ path, edits }, files.context)).toMatchObject({
        ok: false,
        denied: `outside: ${why}`,
      });
    }
    expect(readFileSync(join(outside.project, "o.txt"), "utf8")).toBe("one");
    expect(readFileSync(join(files.project, ".git/config"), "utf8")).toBe("one");
  });

  test("a directory that becomes a symlink to the outside after the check is not followed", async () => {
    await using outside = makeFiles({ "a.txt": "one" });
    await using files = makeFiles({ "dir/a.txt": "one" });
    const path = join(files.project, "dir");
    files.context.files.saw(join(path, "a.txt"), "one");
    const policy = swapOnce(files.context.policy, path, outside.project);
    const result = await editTool.run({ path: "dir/a.txt", edits }, { ...files.context, policy });
    expect(result.ok).toBe(false);
    expect(readFileSync(join(outside.project, "a.txt"), "utf8")).toBe("one");
  });

  test.skipIf(!isRoot)("a read-only file is answered as such", async () => {
    await using files = makeFiles({ "a.txt": "one" });
    chmodSync(dirname(files.project), 0o755);
    chownSync(files.project, nobody, nobody);
    const path = join(files.project, "a.txt");
    const result = await callAsNobody("edit", { path: "a.txt", edits }, files.context.policy, [path]);
    expect(textOf(result)).toBe('Cannot edit "a.txt": permission denied (EACCES)');
    expect(readFileSync(path, "utf8")).toBe("one");
  });
});
