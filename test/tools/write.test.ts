import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { readTool } from "../../lib/tools/read.ts";
import { writeTool } from "../../lib/tools/write.ts";
import { callAsNobody, makeFiles, namesIn, textOf } from "../support/files.ts";
import { isRoot, nobody } from "../support/nobody.ts";
import { swapOnce } from "../support/swap.ts";

describe("a new file", () => {
  test("is written with its directories and is the session's own", async () => {
    await using files = makeFiles();
    const result = await writeTool.run({ path: "src/deep/a.ts", content: "one\ntwo\n" }, files.context);
    const path = join(files.project, "src/deep/a.ts");
    expect(result).toEqual({
      ok: true,
      parts: [{ type: "text", text: 'Created "src/deep/a.ts" (2 lines, 8 bytes).' }],
    });
    expect(fs.readFileSync(path, "utf8")).toBe("one\ntwo\n");
    expect(files.context.files.isOwn(path)).toBe(true);
    expect(namesIn(dirname(path))).toEqual(["a.ts"]);
  });

  test("has the permission bits that the system gives to new files", async () => {
    await using files = makeFiles();
    fs.writeFileSync(join(files.project, "usual"), "");
    await writeTool.run({ path: "new", content: "" }, files.context);
    expect(fs.statSync(join(files.project, "new")).mode).toBe(fs.statSync(join(files.project, "usual")).mode);
  });

  test("can be written again without being read, and reading it says that nothing changed", async () => {
    await using files = makeFiles();
    await writeTool.run({ path: "a", content: "one" }, files.context);
    expect(textOf(await readTool.run({ path: "a" }, files.context))).toContain("unchanged");
    const again = await writeTool.run({ path: "a", content: "two" }, files.context);
    expect(textOf(again)).toBe('Overwrote "a" (1 line, 3 bytes).');
  });

  const contents: [what: string, content: string, says: string][] = [
    ["nothing", "", "0 lines, 0 bytes"],
    ["no newline at the end", "one\ntwo", "2 lines, 7 bytes"],
    ["more than ASCII", "日本\n😀\n", "2 lines, 12 bytes"],
    ["CRLF", "a\r\nb\r\n", "2 lines, 6 bytes"],
    ["a BOM", "\uFEFFa", "1 line, 4 bytes"],
    ["a megabyte", "0123456789abcde\n".repeat(65_536), "65,536 lines, 1,048,576 bytes"],
  ];

  test.each(contents)("with %s is written byte for byte", async (_, content, says) => {
    await using files = makeFiles();
    const result = await writeTool.run({ path: "a", content }, files.context);
    expect(textOf(result)).toBe(`Created "a" (${says}).`);
    expect(fs.readFileSync(join(files.project, "a"))).toEqual(Buffer.from(content));
  });

  test("is not written when its path names a directory", async () => {
    await using files = makeFiles({ "dir/x": "" });
    for (const path of ["new/", "dir", "dir/", "."]) {
      const result = await writeTool.run({ path, content: "x" }, files.context);
      expect(result).toMatchObject({ ok: false });
      expect(textOf(result)).toContain("directory");
    }
    expect(namesIn(files.project)).toEqual(["dir"]);
  });
});

describe("an existing file", () => {
  test("that was not read is not overwritten", async () => {
    await using files = makeFiles({ a: "theirs" });
    const result = await writeTool.run({ path: "a", content: "ours" }, files.context);
    expect(result.ok).toBe(false);
    expect(textOf(result)).toBe('"a" exists and you have not read it: Read it first, so that nothing is lost unseen.');
    expect(fs.readFileSync(join(files.project, "a"), "utf8")).toBe("theirs");
  });

  test("that was read, or read in part, is overwritten and never becomes the session's own", async () => {
    await using files = makeFiles({ a: "one\ntwo\n" });
    await readTool.run({ path: "a", num_lines: 1 }, files.context);
    const result = await writeTool.run({ path: "a", content: "new" }, files.context);
    expect(textOf(result)).toBe('Overwrote "a" (1 line, 3 bytes).');
    expect(files.context.files.isOwn(join(files.project, "a"))).toBe(false);
    expect(namesIn(files.project)).toEqual(["a"]);
  });

  test.each([0o755, 0o600, 0o644, 0o777])("keeps its permission bits %o", async (mode) => {
    await using files = makeFiles({ a: "x" });
    const path = join(files.project, "a");
    fs.chmodSync(path, mode);
    await readTool.run({ path: "a" }, files.context);
    await writeTool.run({ path: "a", content: "y" }, files.context);
    expect(fs.statSync(path).mode & 0o7777).toBe(mode);
  });

  test("loses set-user-id with its content", async () => {
    await using files = makeFiles({ a: "x" });
    const path = join(files.project, "a");
    fs.chmodSync(path, 0o4755);
    await readTool.run({ path: "a" }, files.context);
    await writeTool.run({ path: "a", content: "y" }, files.context);
    expect(fs.statSync(path).mode & 0o7777).toBe(0o755);
  });

  test.skipIf(!isRoot)("keeps its owner when root writes it", async () => {
    await using files = makeFiles({ a: "x" });
    const path = join(files.project, "a");
    fs.chownSync(path, nobody, nobody);
    await readTool.run({ path: "a" }, files.context);
    await writeTool.run({ path: "a", content: "y" }, files.context);
    expect(fs.statSync(path)).toMatchObject({ uid: nobody, gid: nobody });
  });

  test("that is also a hard link elsewhere changes only here", async () => {
    await using files = makeFiles({ a: "x" });
    await using other = makeFiles();
    fs.linkSync(join(files.project, "a"), join(other.project, "a"));
    await readTool.run({ path: "a" }, files.context);
    await writeTool.run({ path: "a", content: "y" }, files.context);
    expect(fs.readFileSync(join(other.project, "a"), "utf8")).toBe("x");
  });
});

describe("a symlink", () => {
  test("to a file inside is written through and stays a link", async () => {
    await using files = makeFiles({ "real/a": "x" });
    fs.symlinkSync("real/a", join(files.project, "link"));
    await readTool.run({ path: "link" }, files.context);
    const result = await writeTool.run({ path: "link", content: "y" }, files.context);
    expect(textOf(result)).toContain('Overwrote "real/a"');
    expect(fs.lstatSync(join(files.project, "link")).isSymbolicLink()).toBe(true);
    expect(fs.readFileSync(join(files.project, "real/a"), "utf8")).toBe("y");
  });

  test("that dangles inside makes the file that it names", async () => {
    await using files = makeFiles();
    fs.symlinkSync("made/a", join(files.project, "link"));
    expect(textOf(await writeTool.run({ path: "link", content: "y" }, files.context))).toContain('Created "made/a"');
    expect(fs.readFileSync(join(files.project, "made/a"), "utf8")).toBe("y");
  });
});

describe("where nothing may be written", () => {
  test("the claim says so, the call is denied, and nothing is there afterwards", async () => {
    await using outside = makeFiles({ o: "theirs" });
    await using files = makeFiles({ "sub/x": "" });
    const { project } = files;
    fs.mkdirSync(join(project, ".git/hooks"), { recursive: true });
    fs.mkdirSync(join(project, "vendor/lib/.git"), { recursive: true });
    fs.mkdirSync(join(project, "frozen"));
    fs.symlinkSync(outside.project, join(project, "out"));
    fs.symlinkSync(join(outside.project, "new-by-link"), join(project, "dangling-out"));
    const context = {
      ...files.context,
      policy: { ...files.context.policy, readonly: [join(project, "frozen")], hide: [join(project, "hidden")] },
    };
    context.files.saw(join(outside.project, "o"), "theirs");
    const paths = [
      join(outside.project, "new"),
      `${project}-evil/x`,
      ..."out/new out/o dangling-out ../new .git/config .git/hooks/pre-commit .git vendor/lib/.git/config".split(" "),
      ..."brand-new/.git/config .koda/config.json sub/.koda frozen/x hidden/x ~/x".split(" "),
    ];
    for (const path of paths) {
      const claim = writeTool.claim({ path, content: "" }, context);
      expect({ path, effect: claim.effect, outside: typeof claim.outside }).toEqual({
        path,
        effect: "write",
        outside: "string",
      });
      const result = await writeTool.run({ path, content: "ours" }, context);
      expect({ path, ok: result.ok, denied: result.denied }).toEqual({
        path,
        ok: false,
        denied: `outside: ${claim.outside}`,
      });
    }
    expect(namesIn(outside.project)).toEqual(["o"]);
    expect(fs.readFileSync(join(outside.project, "o"), "utf8")).toBe("theirs");
    expect(namesIn(project)).toEqual([".git", "dangling-out", "frozen", "out", "sub", "vendor"]);
    expect(namesIn(join(project, ".git/hooks"))).toEqual([]);
    expect(namesIn(files.home)).toEqual([]);
  });

  test("the claim of an ordinary write names the real path", async () => {
    await using files = makeFiles({ "real/x": "" });
    fs.symlinkSync("real", join(files.project, "link"));
    const claim = writeTool.claim({ path: "link/new", content: "" }, files.context);
    expect(claim).toEqual({ effect: "write", writes: [join(files.project, "real/new")] });
  });

  test("a FIFO, a socket and a device are refused", async () => {
    await using files = makeFiles();
    Bun.spawnSync(["mkfifo", join(files.project, "fifo")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(files.project, "socket"), resolve));
    for (const path of ["fifo", "socket"]) {
      const result = await writeTool.run({ path, content: "x" }, files.context);
      expect(textOf(result)).toContain(`it is a ${path === "fifo" ? "named pipe" : "socket"}`);
    }
    await new Promise((resolve) => server.close(resolve));
  });

  test("a fault of the path is an answer and not a denial", async () => {
    await using files = makeFiles({ a: "" });
    fs.symlinkSync("loop", join(files.project, "loop"));
    for (const path of ["", "loop", "a/b", "x\0y", "n".repeat(300), "file:///tmp/x"]) {
      const result = await writeTool.run({ path, content: "x" }, files.context);
      expect(result).toMatchObject({ ok: false });
      expect(result.denied).toBeUndefined();
      expect(textOf(result)).toStartWith(`Cannot write "${path}": `);
    }
    expect(namesIn(files.project)).toEqual(["a", "loop"]);
  });

  test.skipIf(!isRoot)("a read-only file, directory or parent is answered as such, without a trace", async () => {
    await using files = makeFiles({ "mine/a": "x", "readonly/a": "x" });
    const { project } = files;
    const { policy } = files.context;
    fs.chmodSync(dirname(project), 0o755);
    for (const path of ["mine", "mine/a"]) fs.chownSync(join(project, path), nobody, nobody);
    fs.chmodSync(join(project, "mine/a"), 0o444);
    const write = async (path: string) =>
      textOf(
        await callAsNobody("write", { path, content: "y" }, policy, [
          join(project, "mine/a"),
          join(project, "readonly/a"),
        ]),
      );
    expect(await write("mine/a")).toBe('Cannot write "mine/a": permission denied (EACCES)');
    expect(await write("readonly/a")).toBe('Cannot write "readonly/a": permission denied (EACCES)');
    expect(await write("readonly/new")).toBe('Cannot write "readonly/new": permission denied (EACCES)');
    expect(await write("new/deep/x")).toBe('Cannot write "new/deep/x": permission denied (EACCES)');
    expect(await write("mine/new")).toContain("Created");
    expect(namesIn(join(project, "mine"))).toEqual(["a", "new"]);
    expect(namesIn(join(project, "readonly"))).toEqual(["a"]);
    expect(fs.readFileSync(join(project, "mine/a"), "utf8")).toBe("x");
  });

  test.each(["a", "new"])("a write to %j that the system refuses half-way leaves what was there", async (path) => {
    await using files = makeFiles({ a: "old" });
    // A limit on file sizes fails like a full disk: in the middle of the write.
    const limited = Bun.spawnSync(
      [
        "bash",
        "-c",
        'ulimit -f 1; trap "" XFSZ; exec "$0" -e "$1"',
        process.execPath,
        writeScript(path, files.context.policy),
      ],
      { cwd: "/" },
    );
    const result = JSON.parse(limited.stdout.toString());
    expect(textOf(result)).toBe(`Cannot write "${path}": file too large (EFBIG)`);
    expect(fs.readFileSync(join(files.project, "a"), "utf8")).toBe("old");
    expect(namesIn(files.project)).toEqual(["a"]);
  });
});

function writeScript(path: string, policy: object): string {
  const at = (path: string) => JSON.stringify(join(import.meta.dir, "../..", path));
  return `
    import { writeTool } from ${at("lib/tools/write.ts")};
    import { readTool } from ${at("lib/tools/read.ts")};
    import { createFileLog } from ${at("lib/session/files.ts")};
    const context = { policy: ${JSON.stringify(policy)}, files: createFileLog(), signal: new AbortController().signal };
    await readTool.run({ path: "a" }, context);
    console.log(JSON.stringify(await writeTool.run({ path: ${JSON.stringify(path)}, content: "x".repeat(1e6) }, context)));`;
}

describe("between the check and the write", () => {
  test("a directory that becomes a symlink to the outside is not followed", async () => {
    await using outside = makeFiles({ a: "theirs" });
    await using files = makeFiles({ "dir/a": "x" });
    const path = join(files.project, "dir");
    files.context.files.saw(join(path, "a"), "x");
    for (const name of ["a", "new", "made/deep"]) {
      const policy = swapOnce(files.context.policy, path, outside.project);
      const result = await writeTool.run({ path: `dir/${name}`, content: "ours" }, { ...files.context, policy });
      expect(result.ok).toBe(false);
      expect(textOf(result)).toContain("replaced by something else meanwhile");
      fs.unlinkSync(path);
      fs.mkdirSync(path);
      fs.writeFileSync(join(path, "a"), "x");
      Bun.spawnSync(["rm", "-r", `${path}.before`]);
    }
    expect(namesIn(outside.project)).toEqual(["a"]);
    expect(fs.readFileSync(join(outside.project, "a"), "utf8")).toBe("theirs");
  });

  test("a file that becomes a symlink to the outside is not written through", async () => {
    await using outside = makeFiles({ a: "theirs" });
    await using files = makeFiles({ a: "x" });
    const path = join(files.project, "a");
    files.context.files.saw(path, "x");
    const policy = swapOnce(files.context.policy, path, join(outside.project, "a"));
    const result = await writeTool.run({ path: "a", content: "ours" }, { ...files.context, policy });
    expect(result.ok).toBe(false);
    expect(fs.readFileSync(join(outside.project, "a"), "utf8")).toBe("theirs");
  });
});
