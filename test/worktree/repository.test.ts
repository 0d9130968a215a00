import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findGit } from "../../lib/git/program.ts";
import { takeSnapshot } from "../../lib/worktree/snapshot.ts";
import { live, makeGround, programs, runGit, summary, type Ground } from "../support/worktree.ts";
import { policyOf } from "../support/policy.ts";

/** A project with one commit. */
function makeRepository(files: Record<string, string> = { "a.txt": "a\n" }): Ground {
  const ground = makeGround(files);
  ground.commit();
  return ground;
}

/** Every file below a directory, with all that could be changed about it. */
function everything(directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs, ctimeMs, ino } = lstatSync(path);
    const content = entry.isFile() ? Bun.hash(readFileSync(path)) : "";
    found[path] = [mode, mtimeMs, ctimeMs, ino, content].join(" ");
  }
  return found;
}

/** How much a snapshot has copied, and not left to git. */
function copiedBytes({ temporary }: Ground): number {
  const [file = ""] = new Bun.Glob("koda-snapshot-*/copies").scanSync({ cwd: temporary, absolute: true });
  return lstatSync(file).size;
}

describe("the user's repository", () => {
  test("is not touched: no index, no object, no reference, not even a time", async () => {
    await using ground = makeRepository({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" });
    ground.write("a.txt", "staged\n");
    ground.git("add", "a.txt");
    ground.write("a.txt", "staged and more\n");
    ground.write("b.txt", "stashed\n");
    ground.git("stash", "push", "-q", "b.txt");
    ground.write("new.txt", "new\n");

    const git = join(ground.root, ".git");
    await using snapshot = await ground.snapshot();
    const before = everything(git);
    ground.write("a.txt", "1\n");
    ground.write("b.txt", "2\n");
    ground.write("new.txt", "3\n");
    ground.remove("c.txt");
    const diff = await snapshot.changes(live);
    expect(everything(git)).toEqual(before);
    expect(summary(diff)).toEqual([
      "a.txt update +1 -1",
      "b.txt update +1 -1",
      "c.txt delete +0 -1",
      "new.txt update +1 -1",
    ]);
  });

  test("is not touched by the snapshot itself either", async () => {
    await using ground = makeRepository();
    ground.write("a.txt", "dirty\n");
    const before = everything(join(ground.root, ".git"));
    await using _ = await ground.snapshot();
    expect(everything(join(ground.root, ".git"))).toEqual(before);
  });

  test("may be committed to, reset and switched during the turn: only the files count", async () => {
    await using ground = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    ground.git("branch", "other");
    ground.write("b.txt", "b2\n");
    ground.git("commit", "-q", "-am", "more");
    const diff = await ground.changedBy(() => {
      ground.write("a.txt", "a2\n");
      ground.git("commit", "-q", "-am", "again");
      ground.git("switch", "-q", "other");
      ground.git("gc", "-q");
    });
    expect(summary(diff)).toEqual(["b.txt update +1 -1"]);
    expect(diff.patch).toContain("-b2\n+b\n");
  });

  test("may be deleted during the turn: what it alone knew is then without lines", async () => {
    await using ground = makeRepository({ "a.txt": "a\n" });
    ground.write("b.txt", "b\n");
    const diff = await ground.changedBy(() => {
      ground.remove(".git");
      ground.write("a.txt", "a2\n");
      ground.write("b.txt", "b2\n");
    });
    expect(summary(diff)).toEqual(["a.txt update +null -null", "b.txt update +1 -1"]);
  });

  test("may be made during the turn", async () => {
    await using ground = makeGround({ "a.txt": "a\n" });
    const diff = await ground.changedBy(() => {
      ground.git("init", "-q");
      ground.git("add", "-A");
      ground.write("b.txt", "b\n");
    });
    expect(summary(diff)).toEqual(["b.txt add +1 -0"]);
  });
});

describe("a repository that wants to run code", () => {
  type Trap = [name: string, set: (ground: Ground, run: string) => unknown, sprungBy: string[]];

  const filterOf = (kind: string, ground: Ground, run: string) => {
    ground.git("config", `filter.evil.${kind}`, run);
    ground.write(".git/info/attributes", "* filter=evil\n");
  };

  const traps: Trap[] = [
    ["core.fsmonitor", (ground, run) => ground.git("config", "core.fsmonitor", run), ["status"]],
    ["a clean filter", (ground, run) => filterOf("clean", ground, run), ["add", "-A"]],
    ["a smudge filter", (ground, run) => filterOf("smudge", ground, run), ["checkout", "--", "."]],
    ["a filter process", (ground, run) => filterOf("process", ground, run), ["add", "-A"]],
    [
      "a filter that a file of the project asks for",
      (ground, run) => {
        ground.git("config", "filter.evil.clean", run);
        ground.write(".gitattributes", "* filter=evil\n");
      },
      ["add", "-A"],
    ],
    [
      "textconv",
      (ground, run) => {
        ground.git("config", "diff.evil.textconv", run);
        ground.write(".gitattributes", "* diff=evil\n");
      },
      ["diff"],
    ],
    ["diff.external", (ground, run) => ground.git("config", "diff.external", run), ["diff"]],
    [
      "a hook",
      (ground, run) => {
        ground.write(".git/hooks/post-index-change", `#!/bin/sh\n${run} < /dev/null\n`);
        ground.makeExecutable(".git/hooks/post-index-change");
      },
      ["add", "-A"],
    ],
    [
      "an included file",
      (ground, run) => {
        ground.write("included", `[core]\n\tfsmonitor = ${run}\n`);
        ground.git("config", "include.path", join(ground.root, "included"));
      },
      ["status"],
    ],
  ];

  test.each(traps)("does not get to by %s", async (_name, set, sprungBy) => {
    await using ground = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    const ran = join(ground.home, "ran");
    set(ground, trap(ground, ran));
    const diff = await ground.changedBy(
      () => {
        ground.write("a.txt", "changed\n");
        ground.write("c.txt", "new\n");
      },
      { keep: true },
    );
    expect(summary(diff)).toContain("a.txt update +1 -1");
    expect(existsSync(ran)).toBe(false);

    Bun.spawnSync(["git", ...sprungBy], { cwd: ground.root, env: ground.env, stdout: "ignore", stderr: "ignore" });
    expect(existsSync(ran)).toBe(true);
  });

  test("does not get to from a repository inside", async () => {
    await using ground = makeRepository();
    const ran = join(ground.home, "ran");
    ground.write("inner/x", "x\n");
    ground.commit("inner");
    ground.git("-C", "inner", "config", "core.fsmonitor", trap(ground, ran));
    const diff = await ground.changedBy(() => ground.write("inner/x", "y\n"));
    expect(summary(diff)).toEqual(["inner/x update +1 -1"]);
    expect(existsSync(ran)).toBe(false);
  });

  test("does not get to with a git of its own on the search path", async () => {
    await using ground = makeRepository();
    const ran = join(ground.home, "ran");
    const bin = programs(join(ground.root, "bin"), { git: `#!/bin/sh\ntouch '${ran}'\n` });
    ground.link(join(bin, "git"), "../home/git");
    const searchPath = [bin, ground.home, "bin", ".", "", ground.env.PATH].join(":");
    const diff = await ground.changedBy(() => ground.write("a.txt", "b\n"), { searchPath });
    expect(summary(diff)).toEqual(["a.txt update +1 -1"]);
    expect(existsSync(ran)).toBe(false);
    expect(findGit(searchPath, [ground.root])).toBe(Bun.which("git") ?? "");
    expect(findGit(searchPath, [])).toBe(join(bin, "git"));
  });

  /** A program that says that it ran, and lets through what it is given. */
  function trap(ground: Ground, ran: string): string {
    const bin = programs(join(ground.home, "bin"), { trap: `#!/bin/sh\ntouch '${ran}'\ncat\n` });
    return join(bin, "trap");
  }
});

describe("repositories of every kind", () => {
  test("a linked work tree", async () => {
    await using ground = makeRepository();
    const linked = join(ground.home, "linked");
    ground.git("worktree", "add", "-q", linked);
    await using snapshot = await takeAt(ground, linked);
    expect(copiedBytes(ground)).toBe(0);
    writeFileSync(join(linked, "a.txt"), "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1"]);
  });

  test("a submodule", async () => {
    await using ground = makeRepository();
    const origin = join(ground.home, "origin");
    runGit(ground.root, ground.env, ["init", "-q", origin]);
    writeFileSync(join(origin, "x"), "x\n");
    runGit(origin, ground.env, ["add", "-A"]);
    runGit(origin, ground.env, ["commit", "-q", "-m", "x"]);
    ground.git("submodule", "--quiet", "add", origin, "sub");
    ground.git("commit", "-q", "-m", "sub");
    await using snapshot = await ground.snapshot();
    expect(copiedBytes(ground)).toBe(0);
    ground.write("sub/x", "y\n");
    ground.write("sub/z", "z\n");
    expect(summary(await snapshot.changes(live))).toEqual(["sub/x update +1 -1", "sub/z add +1 -0"]);
    ground.remove("sub");
    expect(summary(await snapshot.changes(live))).toEqual(["sub/x delete +0 -1"]);
  });

  test("a part of a repository, with the ignore rules that come from above", async () => {
    await using ground = makeRepository({ ".gitignore": "*.log\n", "top.txt": "a\n", "part/a.txt": "a\n" });
    await using snapshot = await takeAt(ground, join(ground.root, "part"));
    expect(copiedBytes(ground)).toBe(0);
    ground.write("top.txt", "b\n");
    ground.write("part/a.txt", "b\n");
    ground.write("part/a.log", "b\n");
    ground.write("part/sub/b.txt", "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1", "sub/b.txt add +1 -0"]);
  });

  test("a directory that the repository around it ignores", async () => {
    await using ground = makeRepository({ ".gitignore": "/out/\n" });
    ground.write("out/a.txt", "a\n");
    await using snapshot = await takeAt(ground, join(ground.root, "out"));
    ground.write("out/a.txt", "b\n");
    ground.write("out/b.txt", "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1", "b.txt add +1 -0"]);
  });

  test.each(["--assume-unchanged", "--skip-worktree"])(
    "one with files at which git does not look: %s",
    async (flag) => {
      const names = ["changed", "gone", "same", "made", "back"];
      await using ground = makeRepository(Object.fromEntries(names.map((name) => [`part/${name}`, "a\n"])));
      ground.git("update-index", flag, ...names.map((name) => `part/${name}`));
      ground.write("part/changed", "mine\n");
      for (const name of ["made", "back"]) ground.remove(`part/${name}`);
      const diff = await ground.changedBy(() => {
        ground.write("part/changed", "mine\nyours\n");
        ground.remove("part/gone");
        ground.write("part/made", "b\n");
        ground.write("part/back", "a\n");
      });
      expect(summary(diff)).toEqual([
        "part/back add +1 -0",
        "part/changed update +1 -0",
        "part/gone delete +0 -1",
        "part/made add +1 -0",
      ]);
    },
  );

  test("one in the middle of a merge", async () => {
    await using ground = makeRepository({ "a.txt": "a\n" });
    ground.git("switch", "-q", "-c", "other");
    ground.write("a.txt", "other\n");
    ground.git("commit", "-q", "-am", "other");
    ground.git("switch", "-q", "main");
    ground.write("a.txt", "main\n");
    ground.git("commit", "-q", "-am", "main");
    expect(() => ground.git("merge", "other")).toThrow("exit 1");
    const diff = await ground.changedBy(() => ground.write("a.txt", "both\n"));
    expect(summary(diff)).toEqual(["a.txt update +1 -5"]);
  });

  test("one with SHA-256 hashes", async () => {
    await using ground = makeGround({ "a.txt": "a\n" });
    ground.git("init", "-q", "--object-format=sha256");
    ground.commit();
    await using snapshot = await ground.snapshot();
    expect(copiedBytes(ground)).toBe(0);
    ground.write("a.txt", "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1"]);
  });

  test("one with a split index", async () => {
    await using ground = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    ground.git("update-index", "--split-index");
    ground.write("b.txt", "b2\n");
    ground.git("add", "b.txt");
    await using snapshot = await ground.snapshot();
    expect(copiedBytes(ground)).toBe(0);
    ground.write("a.txt", "2\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1"]);
  });

  test("one that checks out other line ends than it stores", async () => {
    await using ground = makeGround({ ".gitattributes": "*.txt text eol=crlf\n", "a.txt": "1\r\n2\r\n3\r\n" });
    age(ground, "a.txt");
    ground.commit();
    const diff = await ground.changedBy(() => ground.write("a.txt", "1\r\n2\r\n3\r\n4\r\n"));
    expect(summary(diff)).toEqual(["a.txt update +1 -0"]);
    expect(diff.patch).toContain(" 3\r\n+4\r\n");
  });

  test("one whose filter stores something else has no lines to show", async () => {
    await using ground = makeGround({ ".gitattributes": "*.dat filter=short\n", "a.dat": "long content\n" });
    age(ground, "a.dat");
    ground.git("init", "-q");
    ground.git("config", "filter.short.clean", "echo pointer");
    ground.git("add", "-A");
    ground.git("commit", "-q", "-m", "start");
    expect(ground.git("show", ":a.dat")).toBe("pointer\n");
    const diff = await ground.changedBy(() => ground.write("a.dat", "other content\n"));
    expect(summary(diff)).toEqual(["a.dat update +null -null"]);
  });

  test("one that git cannot read is watched without git, and that is said", async () => {
    await using ground = makeRepository();
    writeFileSync(join(ground.root, ".git/index"), "no index at all");
    const diff = await ground.changedBy(() => ground.write("a.txt", "b\n"));
    expect(summary(diff)).toEqual(["a.txt update +1 -1"]);
    expect(diff.notes).toHaveLength(1);
    expect(diff.notes[0]).toStartWith(
      `The repository in "${ground.root}" is watched without git: git diff-files failed`,
    );
  });

  function takeAt(ground: Ground, root: string) {
    const policy = policyOf({ ...ground, project: root }, { tmp: join(ground.temporary, "run") });
    return takeSnapshot({ policy, temporary: ground.temporary, searchPath: ground.env.PATH }, live);
  }

  /** Makes a file old: git looks closer at what is as young as its index. */
  function age(ground: Ground, path: string): void {
    utimesSync(join(ground.root, path), 1_000_000_000, 1_000_000_000);
  }
});

describe("stopping", () => {
  test("ends the git that is running, and throws the reason", async () => {
    await using ground = makeRepository();
    const pidFile = join(ground.home, "pid");
    const bin = programs(join(ground.home, "bin"), {
      git: `#!/bin/sh\necho $$ > '${pidFile}.new'\nmv '${pidFile}.new' '${pidFile}'\nexec sleep 60\n`,
    });
    const controller = new AbortController();
    const taking = ground.snapshot({ searchPath: bin, signal: controller.signal });
    while (!existsSync(pidFile)) await new Promise((resolve) => setImmediate(resolve));
    const reason = new Error("stopped by the test");
    controller.abort(reason);
    await expect(taking).rejects.toBe(reason);
    expect(() => process.kill(Number(readFileSync(pidFile, "utf8")), 0)).toThrow("ESRCH");
    expect(readdirSync(ground.temporary)).toEqual(["run"]);
  });

  test("git sees nothing of the user's environment", async () => {
    await using ground = makeRepository();
    const seen = join(ground.home, "seen");
    const real = Bun.which("git") ?? "";
    const bin = programs(join(ground.home, "bin"), { git: `#!/bin/sh\nenv > '${seen}'\nexec '${real}' "$@"\n` });
    process.env.KODA_TEST_SECRET = "hush";
    await using _ = await ground.snapshot({ searchPath: bin });
    delete process.env.KODA_TEST_SECRET;
    const names = readFileSync(seen, "utf8")
      .split("\n")
      .map((line) => line.split("=")[0])
      .filter((name) => name !== "");
    expect(names.filter((name) => !/^(PATH|HOME|LC_ALL|PWD|_|SHLVL|OLDPWD|GIT_\w+)$/.test(name ?? ""))).toEqual([]);
  });
});
