import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { waves } from "../../lib/engine/schedule.ts";
import { applyPatchTool } from "../../lib/tools/applypatch.ts";
import { readTool } from "../../lib/tools/read.ts";
import { callAsNobody, makeFiles, namesIn, textOf } from "../support/files.ts";
import { isRoot, nobody } from "../support/nobody.ts";
import { swapOnce } from "../support/swap.ts";

/** A project whose files the model has read. */
function withRead(content: Record<string, string>) {
  const files = makeFiles(content);
  const see = (path: string) =>
    files.context.files.saw(join(files.project, path), readFileSync(join(files.project, path)));
  for (const path of Object.keys(content)) see(path);
  return {
    ...files,
    at: (path: string) => join(files.project, path),
    text: (path: string) => readFileSync(join(files.project, path), "utf8"),
    apply: (...lines: string[]) => applyPatchTool.run({ patch: patchOf(...lines) }, files.context),
    claim: (...lines: string[]) => applyPatchTool.claim({ patch: patchOf(...lines) }, files.context),
  };
}

function patchOf(...lines: string[]): string {
  return ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
}

const update = (path: string, ...lines: string[]) => [`*** Update File: ${path}`, "@@", ...lines];

test("a patch of several files is applied, and the result says what became of each", async () => {
  await using files = withRead({ "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.sh": "#!/bin/sh\n", gone: "x" });
  chmodSync(files.at("c.sh"), 0o755);
  const result = await files.apply(
    "*** Add File: d/new.txt",
    "+first",
    "+",
    ...update("a.txt", " one", "-two", "+2"),
    "*** Delete File: gone",
    "*** Update File: b.txt",
    "*** Move to: d/moved.txt",
    "@@",
    "-b",
    "+B",
    "*** Update File: c.sh",
    "*** Move to: d/run.sh",
  );
  expect(textOf(result)).toBe(
    [
      'Created "d/new.txt" (2 lines).',
      'Edited "a.txt": 1 hunk (+1 -1).',
      "@@ -1,3 +1,3 @@",
      " one",
      "-two",
      "+2",
      " three",
      'Deleted "gone".',
      'Moved "b.txt" to "d/moved.txt": 1 hunk (+1 -1).',
      "@@ -1,1 +1,1 @@",
      "-b",
      "+B",
      'Moved "c.sh" to "d/run.sh".',
    ].join("\n"),
  );
  expect(result.ok).toBe(true);
  expect(namesIn(files.project)).toEqual(["a.txt", "d"]);
  expect(namesIn(files.at("d"))).toEqual(["moved.txt", "new.txt", "run.sh"]);
  expect([files.text("a.txt"), files.text("d/new.txt"), files.text("d/moved.txt")]).toEqual([
    "one\n2\nthree\n",
    "first\n\n",
    "B\n",
  ]);
  expect(statSync(files.at("d/run.sh")).mode & 0o777).toBe(0o755);
});

test("what was written counts as seen, and what is gone does not", async () => {
  await using files = withRead({ "a.txt": "1\n", "b.txt": "1\n" });
  await files.apply("*** Add File: n", "+1", "*** Update File: b.txt", "*** Move to: c.txt", "*** Delete File: a.txt");
  expect((await files.apply(...update("n", "-1", "+2"), ...update("c.txt", "-1", "+2"))).ok).toBe(true);
  expect((await files.apply(...update("n", "-2", "+3"))).ok).toBe(true);
  expect(textOf(await readTool.run({ path: "n" }, files.context))).toBe("1\t3");
  const { hasSeen, isOwn } = files.context.files;
  expect(["a.txt", "b.txt"].map((path) => hasSeen(files.at(path)))).toEqual([false, false]);
  expect(["n", "c.txt"].map((path) => isOwn(files.at(path)))).toEqual([true, false]);
});

test("the example that the model is shown is a patch that can be applied", async () => {
  const [patch = ""] = /\*\*\* Begin Patch[^]*\*\*\* End Patch/.exec(applyPatchTool.about) ?? [];
  const source = "class Parser(Base):\n    def read(self):\na line that stays\na line that goes\n";
  await using files = withRead({ "old.py": source, "gone.txt": "" });
  expect(textOf(await applyPatchTool.run({ patch }, files.context))).toContain(
    'Moved "old.py" to "renamed.py": 1 hunk (+1 -1).',
  );
});

describe("one mistake, and no file changes", () => {
  const content = { "a.txt": "one\ntwo\n", "b.txt": "one\ntwo\n", bin: "\0", "dir/x": "" };
  const good = update("a.txt", "-one", "+1");
  const rows: [what: string, lines: string[], says: string[]][] = [
    [
      "lines that are not there",
      update("b.txt", " one", "-tow", "+2"),
      ['Hunk 1 of "b.txt" (line 7 of the patch) was not found. The closest lines are:\n1\tone\n2\ttwo'],
    ],
    ["other blanks", update("b.txt", "-  two", "+2"), ["Only blanks differ from these lines:\n2\ttwo"]],
    [
      "two mistakes",
      [...update("b.txt", "-x1", "+2", "@@", "+3"), "*** Delete File: no"],
      ["Hunk 1 of", "Hunk 2 of", '"no" does not exist'],
    ],
    ["a hunk that goes nowhere", update("b.txt", "+x"), ['Hunk 1 of "b.txt" only adds lines: give a line of context']],
    [
      "a header that is not there",
      ["*** Update File: b.txt", "@@ def f", "-two", "+2"],
      ['"@@ def f" was not found above its lines.'],
    ],
    ["a hunk that changes nothing", update("b.txt", " two"), ["old and new are the same"]],
    ["a patch that leaves a file as it is", update("b.txt", "-two", "+two"), ['would leave "b.txt" as it is']],
    ["a file that is not there", update("c.txt", "-x"), ['"c.txt" does not exist. Did you mean']],
    ["a file that is there", ["*** Add File: b.txt", "+x"], ['"b.txt" exists already']],
    ["a move onto a file", ["*** Update File: b.txt", "*** Move to: bin"], ['"bin" exists already']],
    ["a move onto itself", ["*** Update File: b.txt", "*** Move to: ./b.txt"], ['"b.txt" exists already']],
    [
      "a move of a symlink",
      ["*** Update File: link", "*** Move to: new"],
      ['Cannot move "link": it is a symbolic link.'],
    ],
    ["a deleted directory", ["*** Delete File: dir"], ["it is a directory, and a patch deletes only files"]],
    ["a deleted file that is not there", ["*** Delete File: c.txt"], ['"c.txt" does not exist']],
    ["a path of a directory", ["*** Add File: new/", "+x"], ["that names a directory"]],
    ["a file as a directory", ["*** Add File: b.txt/x", "+x"], ["is not a directory"]],
    ["a binary file", update("bin", "-x"), ["it is not text"]],
    ["a file changed and deleted", ["*** Delete File: a.txt"], ['"a.txt" is named twice']],
    [
      "a file deleted and added",
      ["*** Delete File: b.txt", "*** Add File: b.txt", "+x"],
      ['"b.txt" exists already: change it with "*** Update File", or Delete it in a call before.'],
    ],
    ["a file named in two ways", update("./a.txt", "-two", "+2"), ['"a.txt" is named twice']],
    [
      "a file named twice by a symlink",
      [...update("b.txt", "-two", "+2"), ...update("link", "-one", "+1")],
      ['"b.txt" is named twice'],
    ],
    [
      "a new file named twice",
      ["*** Add File: n", "+x", "*** Update File: b.txt", "*** Move to: n"],
      ['"n" is named twice'],
    ],
    [
      "a new file in a new file",
      ["*** Add File: n", "+x", "*** Add File: n/m", "+x"],
      ['Cannot change "n": something by that name appeared meanwhile'],
    ],
    ["an unread file", update("unread", "-x", "+y"), ['You have not read "unread": Read it first.']],
    ["a file that changed", update("stale", "-x", "+y"), ['"stale" changed on disk since you last saw it']],
    ["no marks", ["*** Update File: b.txt", "two"], ["in a hunk a line begins with"]],
  ];

  test.each(rows)("%s", async (_, lines, says) => {
    await using files = withRead({ ...content, stale: "old" });
    writeFileSync(files.at("unread"), "x\n");
    writeFileSync(files.at("stale"), "x\n");
    symlinkSync("b.txt", files.at("link"));
    const before = namesIn(files.project);
    const result = await files.apply(...good, ...lines);
    expect(result.ok).toBe(false);
    for (const sentence of says) expect(textOf(result)).toContain(sentence);
    expect(textOf(result)).toEndWith("Nothing was changed.");
    expect(namesIn(files.project)).toEqual(before);
    expect([files.text("a.txt"), files.text("b.txt")]).toEqual(["one\ntwo\n", "one\ntwo\n"]);
  });

  test("a long list of mistakes is cut", async () => {
    await using files = withRead({});
    const text = textOf(await files.apply(...Array.from({ length: 9 }, (_, at) => `*** Delete File: ${at}`)));
    expect(text).toContain("4 more files cannot be changed either.");
  });
});

describe("where nothing may be written", () => {
  test("a patch is denied as a whole, like a write", async () => {
    await using outside = makeFiles({ "o.txt": "one\n" });
    await using files = withRead({ "a.txt": "one\n", ".git/config": "one\n", "sub/.koda/x": "one\n" });
    symlinkSync(outside.project, files.at("out"));
    const theirs = join(outside.project, "o.txt");
    files.context.files.saw(theirs, "one\n");
    const good = update("a.txt", "-one", "+1");
    for (const path of [theirs, "out/o.txt", ".git/config", "sub/.koda/x"]) {
      for (const bad of [
        update(path, "-one", "+two"),
        [`*** Delete File: ${path}`],
        [`*** Add File: ${dirname(path)}/new`, "+x"],
        ["*** Update File: a.txt", `*** Move to: ${dirname(path)}/new`],
      ]) {
        const { outside: why, effect } = files.claim(...good, ...bad);
        expect({ path, why, effect }).toEqual({ path, why: expect.any(String), effect: "write" });
        const lines = bad[1]?.startsWith("*** Move") === true ? bad : [...good, ...bad];
        expect(await files.apply(...lines)).toMatchObject({ ok: false, denied: `outside: ${why}` });
      }
    }
    expect([files.text("a.txt"), files.text(".git/config"), readFileSync(theirs, "utf8")]).toEqual([
      "one\n",
      "one\n",
      "one\n",
    ]);
    expect(namesIn(outside.project)).toEqual(["o.txt"]);
  });

  test("deleting a writable directory or the home is claimed as destructive and denied", async () => {
    await using files = withRead({ a: "" });
    for (const path of [".", files.project, "~", "/"]) {
      expect(files.claim("*** Add File: x", `*** Delete File: ${path}`).effect).toBe("destructive");
      expect((await files.apply(`*** Delete File: ${path}`)).ok).toBe(false);
    }
    expect(namesIn(files.project)).toEqual(["a"]);
  });

  test("a directory that becomes a symlink to the outside after the check is not followed", async () => {
    await using outside = makeFiles({ "a.txt": "one\n" });
    await using files = makeFiles({ "dir/a.txt": "one\n" });
    const path = join(files.project, "dir");
    files.context.files.saw(join(path, "a.txt"), "one\n");
    const policy = swapOnce(files.context.policy, path, outside.project);
    const patch = patchOf(
      "*** Add File: dir/new",
      "+x",
      ...update("dir/a.txt", "-one", "+1"),
      "*** Add File: top",
      "+x",
    );
    const result = await applyPatchTool.run({ patch }, { ...files.context, policy });
    expect(result.ok).toBe(false);
    expect(namesIn(outside.project)).toEqual(["a.txt"]);
    expect(readFileSync(join(outside.project, "a.txt"), "utf8")).toBe("one\n");
    expect(existsSync(join(files.project, "top"))).toBe(false);
  });

  test.skipIf(!isRoot)("what the system refuses half-way leaves all files as they were", async () => {
    await using files = makeFiles({ "a.txt": "one\n", "locked/b.txt": "one\n" });
    chmodSync(dirname(files.project), 0o755);
    chownSync(files.project, nobody, nobody);
    chownSync(join(files.project, "a.txt"), nobody, nobody);
    const seen = ["a.txt", "locked/b.txt"].map((path) => join(files.project, path));
    const patch = patchOf(
      ...update("a.txt", "-one", "+1"),
      "*** Add File: d/new",
      "+x",
      "*** Delete File: locked/b.txt",
    );
    const result = await callAsNobody("applyPatch", { patch }, files.context.policy, seen);
    expect(textOf(result)).toBe('Cannot change "locked/b.txt": permission denied (EACCES)\nNothing was changed.');
    expect(namesIn(files.project)).toEqual(["a.txt", "locked"]);
    expect(readFileSync(join(files.project, "a.txt"), "utf8")).toBe("one\n");
  });
});

test("a disk that is full half-way leaves all files as they were", async () => {
  await using files = makeFiles({ "a.txt": "one\n", gone: "x" });
  const big = Array.from({ length: 20_000 }, () => "+a line that takes some room");
  const patch = patchOf(...update("a.txt", "-one", "+1"), "*** Delete File: gone", "*** Add File: d/big", ...big);
  const at = (path: string) => JSON.stringify(join(import.meta.dir, "../..", path));
  const script = `
    import { applyPatchTool } from ${at("lib/tools/applypatch.ts")};
    import { createFileLog } from ${at("lib/session/files.ts")};
    const context = { policy: ${JSON.stringify(files.context.policy)}, files: createFileLog(), signal: new AbortController().signal };
    context.files.saw(${JSON.stringify(join(files.project, "a.txt"))}, "one\\n");
    console.log(JSON.stringify(await applyPatchTool.run({ patch: await Bun.stdin.text() }, context)));`;
  // A limit on file sizes fails like a full disk: in the middle of the write.
  const limit = 'ulimit -f 1; trap "" XFSZ; exec "$0" -e "$1"';
  const limited = Bun.spawnSync(["bash", "-c", limit, process.execPath, script], {
    cwd: "/",
    stdin: Buffer.from(patch),
  });
  const result = JSON.parse(limited.stdout.toString());
  expect(textOf(result)).toBe('Cannot change "d/big": file too large (EFBIG)\nNothing was changed.');
  expect(namesIn(files.project)).toEqual(["a.txt", "gone"]);
  expect(readFileSync(join(files.project, "a.txt"), "utf8")).toBe("one\n");
});

describe("the claim", () => {
  test("names every path that is written, so that calls which share none run together", async () => {
    await using files = withRead({ a: "", b: "", c: "" });
    const { at } = files;
    const first = files.claim(...update("a", "-x"), "*** Update File: b", "*** Move to: d/b", "*** Delete File: e");
    expect(first).toEqual({ effect: "write", writes: [at("a"), at("b"), at("d/b"), at("e")] });
    const apart = files.claim("*** Add File: f", "+x");
    const clashing = files.claim("*** Add File: d", "+x");
    expect(waves([{ claim: first }, { claim: apart }, { claim: clashing }]).map((wave) => wave.length)).toEqual([2, 1]);
  });

  test("of a patch that cannot be read is harmless: nothing will be changed", async () => {
    await using files = withRead({});
    expect(applyPatchTool.claim({ patch: "*** Begin Patch\n*** Add File: /x" }, files.context)).toEqual({
      effect: "read",
      writes: [],
    });
  });
});

test("a symlink is deleted and not what it leads to, and one to a file is written through", async () => {
  await using files = withRead({ "real.txt": "one\n", kept: "x" });
  symlinkSync("real.txt", files.at("link"));
  symlinkSync("kept", files.at("other"));
  mkdirSync(files.at("d"));
  expect((await files.apply(...update("link", "-one", "+two"), "*** Delete File: other")).ok).toBe(true);
  expect(files.text("real.txt")).toBe("two\n");
  expect(lstatSync(files.at("link")).isSymbolicLink()).toBe(true);
  expect(namesIn(files.project)).toEqual(["d", "kept", "link", "real.txt"]);
});

test("bytes that are no UTF-8 and a missing newline at the end are kept", async () => {
  await using files = makeFiles();
  const path = files.write("a", Buffer.from([0x63, 0xe9, 0x0d, 0x0a, 0x78, 0x0d, 0x0a, 0xff]));
  files.context.files.saw(path, readFileSync(path));
  const patch = patchOf(...update("a", "-x", "+é"));
  expect((await applyPatchTool.run({ patch }, files.context)).ok).toBe(true);
  expect(readFileSync(path)).toEqual(Buffer.from([0x63, 0xe9, 0x0d, 0x0a, 0xc3, 0xa9, 0x0d, 0x0a, 0xff]));
});

test("a patch of hundreds of files is applied, and its result stays short", async () => {
  const names = Array.from({ length: 300 }, (_, at) => `src/${at}.txt`);
  await using files = withRead(Object.fromEntries(names.map((name) => [name, "one\ntwo\n"])));
  const result = await files.apply(...names.flatMap((name) => update(name, " one", "-two", "+2")));
  expect(result.ok).toBe(true);
  expect(names.every((name) => files.text(name) === "one\n2\n")).toBe(true);
  expect(textOf(result).split("\n").length).toBeLessThan(170);
  expect(textOf(result)).toEndWith("[200 more files]");
});
