import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { seeded } from "../support/random.ts";
import { live, makeGround, summary, type Ground } from "../support/worktree.ts";

type Kind = { name: string; make(files?: Record<string, string>): Ground; searchPath?: string };

/** A project is watched in different ways; what they tell is the same. */
const kinds: Kind[] = [
  { name: "a repository", make: committed },
  { name: "a repository where nothing was committed yet", make: unborn },
  { name: "a directory without a repository", make: makeGround },
  { name: "a repository where there is no git program", make: committed, searchPath: "/nowhere" },
];

function committed(files: Record<string, string> = {}): Ground {
  const ground = unborn(files);
  ground.git("add", "-A");
  ground.git("commit", "-q", "--allow-empty", "-m", "start");
  return ground;
}

function unborn(files: Record<string, string> = {}): Ground {
  const ground = makeGround(files);
  ground.git("init", "-q");
  return ground;
}

const lines = (count: number, start = 1) =>
  Array.from({ length: count }, (_, index) => `line ${index + start}\n`).join("");

describe.each(kinds)("in $name", ({ make, searchPath }) => {
  const options = searchPath === undefined ? {} : { searchPath };

  test("nothing is different when nothing was done", async () => {
    await using ground = make({ "a.txt": "a\n", "sub/b.txt": "b\n" });
    expect(await ground.changedBy(() => {}, options)).toEqual({ files: [], patch: "", notes: [] });
  });

  test("files are added, updated and deleted, by whoever it was", async () => {
    await using ground = make({ "gone.txt": lines(3), "kept.txt": "same\n", "sub/some.txt": lines(9) });
    const diff = await ground.changedBy(() => {
      ground.remove("gone.txt");
      Bun.spawnSync(["sh", "-c", "sed -i s/5/five/ sub/some.txt && mkdir -p new/deep && printf 'x\\ny' > new/deep/f"], {
        cwd: ground.root,
      });
    }, options);
    expect(summary(diff)).toEqual(["gone.txt delete +0 -3", "new/deep/f add +2 -0", "sub/some.txt update +1 -1"]);
    expect(diff.patch).toBe(
      [
        "diff --git a/gone.txt b/gone.txt",
        "deleted file mode 100644",
        "--- a/gone.txt",
        "+++ /dev/null",
        "@@ -1,3 +0,0 @@",
        "-line 1",
        "-line 2",
        "-line 3",
        "diff --git a/new/deep/f b/new/deep/f",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/new/deep/f",
        "@@ -0,0 +1,2 @@",
        "+x",
        "+y",
        "\\ No newline at end of file",
        "diff --git a/sub/some.txt b/sub/some.txt",
        "--- a/sub/some.txt",
        "+++ b/sub/some.txt",
        "@@ -2,7 +2,7 @@",
        " line 2",
        " line 3",
        " line 4",
        "-line 5",
        "+line five",
        " line 6",
        " line 7",
        " line 8",
        "",
      ].join("\n"),
    );
  });

  test("a file that was dirty before is compared with how it was then", async () => {
    await using ground = make({ "a.txt": lines(3) });
    ground.write("a.txt", lines(4));
    ground.write("untracked.txt", "one\n");
    const diff = await ground.changedBy(() => {
      ground.write("a.txt", lines(5));
      ground.write("untracked.txt", "one\ntwo\n");
    }, options);
    expect(summary(diff)).toEqual(["a.txt update +1 -0", "untracked.txt update +1 -0"]);
  });

  test("a file that was missing before and comes back is an addition", async () => {
    await using ground = make({ "a.txt": lines(3) });
    ground.remove("a.txt");
    const diff = await ground.changedBy(() => ground.write("a.txt", lines(3)), options);
    expect(summary(diff)).toEqual(["a.txt add +3 -0"]);
  });

  test("what is written again, touched or put back is no change", async () => {
    await using ground = make({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" });
    ground.write("d.txt", "d\n");
    const diff = await ground.changedBy(() => {
      ground.write("a.txt", "a\n");
      fs.utimesSync(join(ground.root, "b.txt"), 1, 1);
      ground.remove("c.txt");
      ground.write("c.txt", "c\n");
      ground.write("d.txt", "other\n");
      ground.write("d.txt", "d\n");
      ground.write("e.txt", "e\n");
      ground.remove("e.txt");
    }, options);
    expect(diff).toEqual({ files: [], patch: "", notes: [] });
  });

  test("a change in the same instant, of the same length and with the old time, is seen", async () => {
    await using ground = make();
    for (let round = 0; round < 10; round++) {
      const path = ground.write("a.txt", "old\n");
      await using snapshot = await ground.snapshot(options);
      fs.writeFileSync(path, "new\n");
      fs.utimesSync(path, 1, 1);
      expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1"]);
    }
  });

  test("a snapshot can be asked again and again", async () => {
    await using ground = make({ "a.txt": "a\n" });
    await using snapshot = await ground.snapshot(options);
    ground.write("a.txt", "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1"]);
    ground.write("b.txt", "b\n");
    expect(summary(await snapshot.changes(live))).toEqual(["a.txt update +1 -1", "b.txt add +1 -0"]);
    ground.remove("b.txt");
    ground.write("a.txt", "a\n");
    expect(summary(await snapshot.changes(live))).toEqual([]);
  });

  test("a moved file is one gone and one made", async () => {
    await using ground = make({ "a.txt": lines(2) });
    const diff = await ground.changedBy(
      () => fs.renameSync(join(ground.root, "a.txt"), join(ground.root, "b.txt")),
      options,
    );
    expect(summary(diff)).toEqual(["a.txt delete +0 -2", "b.txt add +2 -0"]);
  });

  test("modes and symlinks are told as git tells them", async () => {
    await using ground = make({ "run.sh": "true\n", "to-link.txt": "text\n", "a.txt": "a\n" });
    ground.link("a.txt", "link");
    const diff = await ground.changedBy(() => {
      ground.makeExecutable("run.sh");
      ground.remove("link");
      ground.link("elsewhere", "link");
      ground.remove("to-link.txt");
      ground.link("/nowhere/at/all", "to-link.txt");
    }, options);
    expect(summary(diff)).toEqual(["link update +1 -1", "run.sh update +0 -0", "to-link.txt update +1 -1"]);
    expect(diff.patch).toContain("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    expect(diff.patch).toContain("new file mode 120000\n--- /dev/null\n+++ b/to-link.txt\n");
  });

  test("files without lines have no counts and no lines in the patch", async () => {
    await using ground = make({ "a.bin": "a\0b" });
    const diff = await ground.changedBy(() => {
      ground.write("a.bin", "a\0c");
      ground.write("b.bin", new Uint8Array(3000));
      ground.write("empty", "");
    }, options);
    expect(summary(diff)).toEqual(["a.bin update +null -null", "b.bin add +null -null", "empty add +0 -0"]);
    expect(diff.patch).toContain("Binary files a/a.bin and b/a.bin differ\n");
    expect(diff.patch).toContain("diff --git a/empty b/empty\nnew file mode 100644\n");
  });

  test("a file over 10 MiB is named, without its lines", async () => {
    await using ground = make({ "big.txt": "small\n", "keep.txt": "a\n" });
    ground.write("idle.txt", "");
    fs.truncateSync(join(ground.root, "idle.txt"), 11 * 1024 * 1024);
    const diff = await ground.changedBy(() => {
      fs.truncateSync(join(ground.root, "big.txt"), 11 * 1024 * 1024);
    }, options);
    expect(summary(diff)).toEqual(["big.txt update +null -null"]);
    expect(diff.notes).toEqual(["Lines are not compared in 1 changed file over 10 MiB"]);
  });

  test("ignored files are left out, whatever happens to them", async () => {
    await using ground = make({ ".gitignore": "*.log\n/out/\n", "sub/.gitignore": "!keep.log\n" });
    ground.write("out/old", "a\n");
    const diff = await ground.changedBy(() => {
      ground.write("a.log", "a\n");
      ground.write("out/old", "b\n");
      ground.write("out/new", "b\n");
      ground.write("sub/keep.log", "c\n");
    }, options);
    expect(summary(diff)).toEqual(["sub/keep.log add +1 -0"]);
  });

  test("files that only became visible, or ignored, are no change", async () => {
    await using ground = make({ ".gitignore": "*.log\n" });
    const old = ground.write("old.log", "a\n");
    ground.write("old.txt", "a\n");
    await settled(old);
    const diff = await ground.changedBy(() => ground.write(".gitignore", "*.txt\n"), options);
    expect(summary(diff)).toEqual([".gitignore update +1 -1"]);
  });

  test("files of a directory that was moved are gone there and new here, however old they are", async () => {
    await using ground = make({ "dir/a.txt": "a\n" });
    await settled(join(ground.root, "dir/a.txt"));
    const diff = await ground.changedBy(
      () => fs.renameSync(join(ground.root, "dir"), join(ground.root, "new")),
      options,
    );
    expect(summary(diff)).toEqual(["dir/a.txt delete +0 -1", "new/a.txt add +1 -0"]);
  });

  test("names of every kind are told and quoted", async () => {
    await using ground = make({ "ünï cödé/日本.txt": "a\n" });
    const diff = await ground.changedBy(() => {
      ground.write("ünï cödé/日本.txt", "b\n");
      ground.write('a "quoted"\t\\name\n', "c\n");
      ground.write("-dash", "d\n");
    }, options);
    expect(summary(diff)).toEqual([
      "-dash add +1 -0",
      'a "quoted"\t\\name\n add +1 -0',
      "ünï cödé/日本.txt update +1 -1",
    ]);
    expect(diff.patch).toContain('+++ "b/a \\"quoted\\"\\t\\\\name\\n"\n');
    expect(diff.patch).toContain("+++ b/ünï cödé/日本.txt\n");
  });

  test("what is neither file nor symlink is passed by", async () => {
    await using ground = make({ "a.txt": "a\n" });
    Bun.spawnSync(["mkfifo", "before"], { cwd: ground.root });
    const diff = await ground.changedBy(() => {
      Bun.spawnSync(["mkfifo", "after"], { cwd: ground.root });
      ground.remove("a.txt");
      Bun.spawnSync(["mkfifo", "a.txt"], { cwd: ground.root });
    }, options);
    expect(summary(diff)).toEqual(["a.txt delete +0 -1"]);
  });

  test("a directory that became a symlink out of the project shows nothing of what is there", async () => {
    await using ground = make({ "sub/a": "a\n" });
    fs.writeFileSync(join(ground.home, "a"), "secret\n");
    const diff = await ground.changedBy(() => {
      ground.remove("sub");
      ground.link(ground.home, "sub");
    }, options);
    expect(summary(diff)).toEqual(["sub add +1 -0", "sub/a delete +0 -1"]);
    expect(diff.patch).not.toContain("secret");
  });

  test("everything gone is everything deleted", async () => {
    await using ground = make({ a: "a\n", "b/c": "c\n" });
    const diff = await ground.changedBy(() => {
      for (const name of fs.readdirSync(ground.root)) if (name !== ".git") ground.remove(name);
    }, options);
    expect(summary(diff)).toEqual(["a delete +0 -1", "b/c delete +0 -1"]);
  });

  test("hidden and temporary directories in the project are left out", async () => {
    await using ground = make({ a: "a\n" });
    const hide = [join(ground.root, "state")];
    const tmp = join(ground.root, "scratch");
    const diff = await ground.changedBy(
      () => {
        ground.write("state/koda.db", "x");
        ground.write("scratch/y", "y");
        ground.write("b", "b\n");
      },
      { ...options, rules: { hide, tmp } },
    );
    expect(summary(diff)).toEqual(["b add +1 -0"]);
  });

  test("a repository that appears in it is told with all its files", async () => {
    await using ground = make({ a: "a\n" });
    const diff = await ground.changedBy(() => {
      ground.write("cloned/x", "x\n");
      ground.commit("cloned");
    }, options);
    expect(summary(diff)).toEqual(["cloned/x add +1 -0"]);
  });

  test("a repository in it is watched like the rest", async () => {
    await using ground = make({ a: "a\n" });
    ground.write("inner/.gitignore", "*.log\n");
    ground.write("inner/x", "x\n");
    ground.write("inner/y", "y\n");
    ground.git("init", "-q", "inner");
    ground.git("-C", "inner", "add", "x", ".gitignore");
    ground.git("-C", "inner", "commit", "-q", "-m", "x");
    const diff = await ground.changedBy(() => {
      ground.write("inner/x", "1\n");
      ground.write("inner/y", "2\n");
      ground.write("inner/z", "3\n");
      ground.write("inner/a.log", "4\n");
    }, options);
    expect(summary(diff)).toEqual(["inner/x update +1 -1", "inner/y update +1 -1", "inner/z add +1 -0"]);
  });

  test("a patch too long is cut between files, and the list stays whole", async () => {
    await using ground = make();
    const diff = await ground.changedBy(() => {
      for (const name of ["a", "b", "c"]) ground.write(name, `${"y".repeat(1999)}\n`.repeat(1100));
    }, options);
    expect(summary(diff)).toEqual(["a add +1100 -0", "b add +1100 -0", "c add +1100 -0"]);
    expect(diff.patch.match(/^diff --git .*$/gm)).toEqual(["diff --git a/a b/a"]);
    expect(diff.notes).toEqual(["The diff event is cut at 4 MiB and leaves out 2 changed files"]);
  });

  test("the patch turns the old files into the new ones", async () => {
    await using ground = make();
    const random = seeded(7);
    const names = Array.from({ length: 30 }, (_, index) => `f${index}.txt`);
    for (const name of names) ground.write(name, randomText(random));
    ground.write("crlf.txt", "a\r\nb\r\nc\r\n");
    await using copy = makeGround();
    Bun.spawnSync(["cp", "-R", `${ground.root}/.`, copy.root]);

    const diff = await ground.changedBy(
      () => {
        for (const name of names) {
          if (random() < 0.1) ground.remove(name);
          else ground.write(name, randomEdit(fs.readFileSync(join(ground.root, name), "utf8"), random));
        }
        ground.write("crlf.txt", "a\r\nB\nc\r\n");
        fs.appendFileSync(join(ground.root, "new.txt"), randomText(random));
      },
      { ...options, keep: true },
    );

    expect(diff.files.length).toBeGreaterThan(20);
    fs.writeFileSync(join(copy.home, "patch"), diff.patch);
    const applied = Bun.spawnSync(["git", "apply", "--whitespace=nowarn", join(copy.home, "patch")], {
      cwd: copy.root,
      env: { ...copy.env, GIT_CEILING_DIRECTORIES: copy.home },
      stderr: "pipe",
    });
    expect(applied.stderr.toString()).toBe("");
    const compared = Bun.spawnSync(["diff", "-r", "-x", ".git", ground.root, copy.root]);
    expect(compared.stdout.toString()).toBe("");
  });

  test("a text that is wholly replaced is patched too", async () => {
    await using ground = make({ "a.txt": lines(3), "b.txt": "" });
    const diff = await ground.changedBy(() => {
      ground.write("a.txt", "");
      ground.write("b.txt", "b");
    }, options);
    expect(summary(diff)).toEqual(["a.txt update +0 -3", "b.txt update +1 -0"]);
    expect(diff.patch).toContain("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +0,0 @@\n-line 1\n");
    expect(diff.patch).toContain("@@ -0,0 +1,1 @@\n+b\n\\ No newline at end of file\n");
  });

  test("what it needed is gone when it is closed", async () => {
    await using ground = make({ a: "a\n" });
    await ground.changedBy(() => ground.write("b", "b\n"), options);
    expect(fs.readdirSync(ground.temporary)).toEqual(["run"]);
  });
});

/** Waits until the file system's clock has moved on from when the file was last changed. */
async function settled(path: string): Promise<void> {
  while (Date.now() - fs.lstatSync(path).ctimeMs < 60) await new Promise((resolve) => setImmediate(resolve));
}

function randomText(random: () => number): string {
  const count = Math.floor(random() * 40);
  const text = Array.from({ length: count }, () => `word ${Math.floor(random() * 8)}\n`).join("");
  return random() < 0.3 ? text.trimEnd() : text;
}

function randomEdit(text: string, random: () => number): string {
  const all = text.split("\n");
  for (let edit = 0; edit < 4; edit++) {
    const at = Math.floor(random() * (all.length + 1));
    const kind = random();
    if (kind < 0.4) all.splice(at, 0, `new ${Math.floor(random() * 8)}`);
    else if (kind < 0.7) all.splice(at, 1);
    else all.splice(at, 1, `other ${Math.floor(random() * 8)}`);
  }
  return all.join("\n");
}
