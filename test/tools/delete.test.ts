import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { HeldDirectory } from "../../lib/files/held.ts";
import { removeTree } from "../../lib/files/remove.ts";
import { deleteTool } from "../../lib/tools/delete.ts";
import { writeTool } from "../../lib/tools/write.ts";
import { callAsNobody, makeFiles, namesIn, textOf } from "../support/files.ts";
import { isRoot, nobody } from "../support/nobody.ts";
import { swapOnce } from "../support/swap.ts";

describe("inside the project", () => {
  test("a file is deleted and forgotten", async () => {
    await using files = makeFiles({ "src/a": "", "src/b": "" });
    await writeTool.run({ path: "src/new", content: "x" }, files.context);
    const path = join(files.project, "src/new");
    expect(deleteTool.claim({ path: "src/new" }, files.context)).toEqual({ effect: "write", writes: [path] });
    expect(textOf(await deleteTool.run({ path: "src/new" }, files.context))).toBe('Deleted "src/new".');
    expect(namesIn(join(files.project, "src"))).toEqual(["a", "b"]);
    expect(files.context.files.hasSeen(path)).toBe(false);
    expect(files.context.files.isOwn(path)).toBe(false);
  });

  test("a directory needs recursive, even an empty one", async () => {
    await using files = makeFiles({ "d/x": "" });
    mkdirSync(join(files.project, "void"));
    for (const path of ["d", "void", "d/"]) {
      const result = await deleteTool.run({ path }, files.context);
      expect(result.ok).toBe(false);
      expect(textOf(result)).toContain("set recursive");
    }
    expect(namesIn(files.project)).toEqual(["d", "void"]);
  });

  test("a tree is deleted with everything in it, and what its links point to stays", async () => {
    await using outside = makeFiles({ "keep/x": "theirs" });
    await using files = makeFiles({ "d/a": "", "d/e/f/b": "", "d/.hidden": "", other: "" });
    const tree = join(files.project, "d");
    symlinkSync(outside.project, join(tree, "e/out"));
    symlinkSync("../other", join(tree, "to-other"));
    symlinkSync("nowhere", join(tree, "dangling"));
    Bun.spawnSync(["mkfifo", join(tree, "fifo")]);
    chmodSync(join(tree, "a"), 0o400);
    const result = await deleteTool.run({ path: "d", recursive: true }, files.context);
    expect(textOf(result)).toBe('Deleted "d" (10 entries).');
    expect(namesIn(files.project)).toEqual(["other"]);
    expect(readFileSync(join(outside.project, "keep/x"), "utf8")).toBe("theirs");
  });

  test("a symlink is deleted and not what it points to, wherever that is", async () => {
    await using outside = makeFiles({ x: "theirs" });
    await using files = makeFiles({ "d/x": "ours" });
    const { project, home } = files;
    const targets = {
      "to-dir": "d",
      "to-file": "d/x",
      out: outside.project,
      "to-home": home,
      dangling: "none",
      "to-root": ".",
    };
    for (const [name, target] of Object.entries(targets)) symlinkSync(target, join(project, name));
    for (const name of Object.keys(targets)) {
      const path = name === "to-dir" ? `${name}/` : name;
      expect(deleteTool.claim({ path }, files.context)).toMatchObject({
        effect: "write",
        writes: [join(project, name)],
      });
      expect(await deleteTool.run({ path, recursive: true }, files.context)).toMatchObject({ ok: true });
    }
    expect(namesIn(project)).toEqual(["d"]);
    expect(namesIn(join(project, "d"))).toEqual(["x"]);
    expect(namesIn(outside.project)).toEqual(["x"]);
    expect(existsSync(home)).toBe(true);
  });

  test("a deep tree is deleted", async () => {
    await using files = makeFiles({ [`${"d/".repeat(400)}x`]: "" });
    expect(textOf(await deleteTool.run({ path: "d", recursive: true }, files.context))).toBe(
      'Deleted "d" (401 entries).',
    );
    expect(namesIn(files.project)).toEqual([]);
  });

  test("what is not there is answered with what was meant", async () => {
    await using files = makeFiles({ "main.ts": "" });
    const result = await deleteTool.run({ path: "mian.ts" }, files.context);
    expect(result.ok).toBe(false);
    expect(textOf(result)).toBe('"mian.ts" does not exist. Did you mean "main.ts"?');
  });

  test("a FIFO and a socket are refused when they are named", async () => {
    await using files = makeFiles();
    Bun.spawnSync(["mkfifo", join(files.project, "fifo")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(files.project, "socket"), resolve));
    for (const path of ["fifo", "socket"])
      expect(await deleteTool.run({ path }, files.context)).toMatchObject({ ok: false });
    expect(namesIn(files.project)).toEqual(["fifo", "socket"]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("what no call may delete", () => {
  /** All of it lies in the test's own directory, `/` aside, which is only asked about. */
  test("the home, a writable root and their parents are refused and stay", async () => {
    await using files = makeFiles({ a: "" });
    const { home, project } = files;
    const base = dirname(project);
    mkdirSync(join(base, "more/writable"), { recursive: true });
    const context = {
      ...files.context,
      policy: { ...files.context.policy, write: [project, join(base, "more/writable"), base] },
    };
    for (const path of [
      ".",
      "./",
      project,
      "..",
      base,
      home,
      "~",
      "~/",
      join(base, "more"),
      join(base, "more/writable"),
    ]) {
      const claim = deleteTool.claim({ path }, context);
      expect({ path, effect: claim.effect }).toEqual({ path, effect: "destructive" });
      const result = await deleteTool.run({ path, recursive: true }, context);
      expect({ path, ok: result.ok, denied: result.denied }).toEqual({
        path,
        ok: false,
        denied: `destructive: ${claim.reason}`,
      });
    }
    expect(namesIn(base)).toEqual(["home", "more", "project", "tmp"]);
    expect(namesIn(project)).toEqual(["a"]);
    expect(deleteTool.claim({ path: "/" }, context)).toMatchObject({ effect: "destructive", reason: 'deleting "/"' });
  });

  test("what lies outside is denied and stays", async () => {
    await using outside = makeFiles({ x: "" });
    await using files = makeFiles();
    symlinkSync(outside.project, join(files.project, "out"));
    for (const path of [join(outside.project, "x"), "out/x", outside.project]) {
      expect(deleteTool.claim({ path }, files.context)).toMatchObject({ effect: "write", outside: expect.any(String) });
      expect(await deleteTool.run({ path, recursive: true }, files.context)).toMatchObject({
        ok: false,
        denied: expect.any(String),
      });
    }
    expect(namesIn(outside.project)).toEqual(["x"]);
  });

  test("protected, read-only and hidden paths stay, and so does a tree that has one in it, whole", async () => {
    await using files = makeFiles({
      ".git/config": "",
      "vendor/a/lib/.git/HEAD": "",
      "vendor/a/x": "",
      "sub/.koda/config.json": "",
      "sub/z": "",
      "keep/frozen/x": "",
      "keep/y": "",
      "more/secret/x": "",
      "more/y": "",
      "git-file/.git": "gitdir: elsewhere",
    });
    const { project } = files;
    const policy = {
      ...files.context.policy,
      readonly: [join(project, "keep/frozen")],
      hide: [join(project, "more/secret")],
    };
    const before = Bun.spawnSync(["find", project]).stdout.toString();
    const paths =
      ".git .git/config vendor/a/lib/.git vendor vendor/a sub sub/.koda keep keep/frozen more more/secret/x git-file";
    for (const path of paths.split(" ")) {
      const result = await deleteTool.run({ path, recursive: true }, { ...files.context, policy });
      expect({ path, ok: result.ok, denied: typeof result.denied }).toEqual({ path, ok: false, denied: "string" });
    }
    expect(Bun.spawnSync(["find", project]).stdout.toString()).toBe(before);
  });

  test.skipIf(!isRoot)("what the system does not permit is answered as such", async () => {
    await using files = makeFiles({ "d/x": "" });
    chmodSync(dirname(files.project), 0o755);
    chownSync(files.project, nobody, nobody);
    const { policy } = files.context;
    expect(textOf(await callAsNobody("delete", { path: "d/x" }, policy))).toBe(
      'Cannot delete "d/x": permission denied (EACCES)',
    );
    expect(textOf(await callAsNobody("delete", { path: "d", recursive: true }, policy))).toBe(
      'Cannot delete "d": permission denied (EACCES)',
    );
    expect(namesIn(join(files.project, "d"))).toEqual(["x"]);
  });
});

describe("while somebody else is at work", () => {
  test("a directory that becomes a symlink to the outside after the check is not followed", async () => {
    await using outside = makeFiles({ "a/x": "theirs" });
    await using files = makeFiles({ "dir/a/x": "ours" });
    for (const [path, swapped, target] of [
      ["dir/a", "dir", outside.project],
      ["dir/a", "dir/a", join(outside.project, "a")],
    ] as const) {
      const policy = swapOnce(files.context.policy, join(files.project, swapped), target);
      const result = await deleteTool.run({ path, recursive: true }, { ...files.context, policy });
      expect(result.ok).toBe(false);
      expect(readFileSync(join(outside.project, "a/x"), "utf8")).toBe("theirs");
      if (lstatSync(join(files.project, swapped)).isSymbolicLink()) {
        renameSync(join(files.project, swapped), join(files.project, "swapped"));
        renameSync(join(files.project, `${swapped}.before`), join(files.project, swapped));
      }
    }
  });

  test("a part of the tree that becomes a symlink on the way is removed as a link", async () => {
    await using outside = makeFiles({ x: "theirs" });
    await using files = makeFiles({ "d/a/x": "", "d/b/x": "" });
    const tree = join(files.project, "d");
    const signal = new AbortController().signal;
    let visits = 0;
    const keep = (path: string) => {
      // The second time that it comes by, the first look is over and the removal has begun.
      if (path === join(tree, "a/x") && ++visits === 2) {
        renameSync(join(tree, "b"), join(files.project, "moved"));
        symlinkSync(outside.project, join(tree, "b"));
      }
      return undefined;
    };
    using parent = HeldDirectory.open(files.project);
    await removeTree(parent, "d", { keep, signal });
    expect(namesIn(files.project)).toEqual(["moved"]);
    expect(namesIn(outside.project)).toEqual(["x"]);
  });

  test("a protected directory that appears on the way is not entered", async () => {
    await using files = makeFiles({ "d/a": "", "d/z": "" });
    const tree = join(files.project, "d");
    let visits = 0;
    const keep = (path: string) => {
      if (path === join(tree, "a") && ++visits === 2) files.write("d/m/.git/HEAD", "");
      return path.endsWith("/.git") ? "protected" : undefined;
    };
    using parent = HeldDirectory.open(files.project);
    const signal = new AbortController().signal;
    mkdirSync(join(tree, "m"));
    await expect(removeTree(parent, "d", { keep, signal })).rejects.toThrow("protected");
    expect(existsSync(join(tree, "m/.git/HEAD"))).toBe(true);
  });

  test("an abort stops it", async () => {
    await using files = makeFiles({ "d/x": "" });
    const reason = new Error("stop");
    const context = { ...files.context, signal: AbortSignal.abort(reason) };
    await expect(deleteTool.run({ path: "d", recursive: true }, context)).rejects.toBe(reason);
    expect(existsSync(join(files.project, "d/x"))).toBe(true);
  });
});
