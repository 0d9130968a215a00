import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { openSnapshot } from "../../lib/worktree/snapshot.ts";
import { policyOf } from "../support/policy.ts";
import { live, makeGround, summary, type Ground } from "../support/worktree.ts";

const mebibyte = 1024 * 1024;

/** Everything in a project but git's own directories: modes, contents and targets. */
function pictureOf(root: string): Record<string, string> {
  const picture: Record<string, string> = {};
  for (const entry of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (/\/\.git(\/|$)/.test(path)) continue;
    const content = entry.isFile()
      ? Bun.hash(fs.readFileSync(path))
      : entry.isSymbolicLink()
        ? fs.readlinkSync(path)
        : "";
    picture[path.slice(root.length + 1)] = `${fs.lstatSync(path).mode.toString(8)} ${content}`;
  }
  return picture;
}

/** A project with something of everything, in which a repository lies, and half of which git does not know. */
function makeProject(isRepository: boolean): Ground {
  const texts = {
    ".gitignore": "*.log\n",
    "a.txt": "a\n",
    "deep/er/b": "b\n",
    "dir/c": "c\n",
    "run.sh": "",
    file: "f\n",
  };
  const ground = makeGround({ ...texts, "bin.dat": "a\0b", "linked/l": "l\n" });
  const fill = (path: string) => fs.writeFileSync(join(ground.root, path), Buffer.alloc(11 * mebibyte, path));
  ground.link("a.txt", "link");
  ground.makeExecutable("run.sh");
  fill("large");
  if (isRepository) {
    ground.commit();
  }
  ground.write("a.txt", "dirty\n");
  ground.write("secret", "s\n");
  fs.chmodSync(join(ground.root, "secret"), 0o600);
  ground.write("inner/x", "x\n");
  ground.git("init", "-q", "inner");
  ground.git("-C", "inner", "add", "x");
  ground.git("-C", "inner", "commit", "-q", "-m", "x");
  ground.write("inner/y", "y\n");
  fill("larger");
  fs.mkdirSync(join(ground.root, "empty"));
  return ground;
}

/** All that a turn may do to it. */
function change(ground: Ground): void {
  const texts = {
    "a.txt": "1\n",
    "new/er/d": "d\n",
    "empty/e": "e\n",
    "bin.dat": "c\0d",
    "inner/x": "2\n",
    "inner/z": "z\n",
  };
  for (const [path, text] of Object.entries(texts)) ground.write(path, text);
  for (const path of ["deep", "link", "file", "dir", "inner/y", "larger", "linked"]) ground.remove(path);
  ground.link("elsewhere", "link");
  ground.link(ground.home, "linked");
  ground.write("file/inside", "i\n");
  ground.write("dir", "no directory\n");
  ground.write("ignored.log", "log\n");
  fs.chmodSync(join(ground.root, "run.sh"), 0o644);
  fs.chmodSync(join(ground.root, "secret"), 0o644);
  fs.truncateSync(join(ground.root, "large"), 12 * mebibyte);
}

const changed = [
  "a.txt update +1 -1, bin.dat update +null -null, deep/er/b delete +0 -1, dir add +1 -0, dir/c delete +0 -1",
  "empty/e add +1 -0, file delete +0 -1, file/inside add +1 -0, inner/x update +1 -1, inner/y delete +0 -1",
  "inner/z add +1 -0, large update +null -null, larger delete +null -null, link update +1 -1, linked add +1 -0",
  "linked/l delete +0 -1, new/er/d add +1 -0, run.sh update +0 -0",
].flatMap((lines) => lines.split(", "));

test.each([
  ["a repository", true, {}],
  ["a directory", false, {}],
  ["a repository where there is no git program", true, { searchPath: "/nowhere" }],
] as const)(
  "a later process restores %s byte for byte, after git pruned its objects and the run's directory is gone",
  async (_name, isRepository, options) => {
    await using ground = makeProject(isRepository);
    const before = pictureOf(ground.root);
    const storeIn = join(ground.home, "stored");
    {
      await using snapshot = await ground.snapshot(options);
      change(ground);
      expect(summary(await snapshot.changes(live, { storeIn }))).toEqual(changed);
    }
    if (isRepository) {
      // No commit and no index leads to the old contents any more.
      for (const path of [".git/refs/heads", ".git/logs", ".git/index"])
        fs.rmSync(join(ground.root, path), { recursive: true });
      fs.mkdirSync(join(ground.root, ".git/refs/heads"));
      ground.git("gc", "-q", "--prune=now");
    }
    fs.rmSync(ground.temporary, { recursive: true });
    expect(restoreElsewhere(ground, storeIn)).toEqual([]);
    const { "ignored.log": ignored, ...after } = pictureOf(ground.root);
    expect(after).toEqual(before);
    expect(ignored).toBeDefined();
  },
);

/** Restores in a process of its own, twice, and returns what it could not, or did the second time. */
function restoreElsewhere(ground: Ground, directory: string): unknown {
  const policy = policyOf(ground, {});
  const script = `
    const { openSnapshot } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/worktree/snapshot.ts"))});
    const snapshot = await openSnapshot(${JSON.stringify(directory)}, ${JSON.stringify(policy)});
    const { signal } = new AbortController();
    const failed = (await snapshot.restore(signal)).filter(({ problem }) => problem !== undefined);
    console.log(JSON.stringify([...failed, ...(await snapshot.restore(signal))]));`;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
  expect(stderr.toString()).toBe("");
  return JSON.parse(stdout.toString());
}

test("only the named paths are restored", async () => {
  await using ground = makeGround({ a: "a\n", "b/c": "c\n" });
  await using snapshot = await ground.snapshot();
  ground.write("a", "1\n");
  ground.write("b/c", "2\n");
  expect(await snapshot.restore(live, ["b/c", "nothing"])).toEqual([{ path: "b/c" }]);
  expect(summary(await snapshot.changes(live))).toEqual(["a update +1 -1"]);
});

test("what is stored is for its owner alone, replaced by a second look, and gone when nothing is different", async () => {
  await using ground = makeGround({ a: "a\n" });
  await using snapshot = await ground.snapshot();
  const storeIn = join(ground.home, "stored");
  for (const text of ["1\n", "2\n"]) {
    ground.write("a", text);
    await snapshot.changes(live, { storeIn });
  }
  const paths = [storeIn, ...fs.readdirSync(storeIn).map((name) => join(storeIn, name))];
  expect(paths.map((path) => fs.lstatSync(path).mode & 0o077)).toEqual([0, 0, 0]);
  await using stored = await openSnapshot(storeIn, policyOf(ground, {}));
  expect(await stored?.restore(live)).toEqual([{ path: "a" }]);
  await snapshot.changes(live, { storeIn });
  expect(fs.existsSync(storeIn)).toBe(false);
  expect(await openSnapshot(storeIn, policyOf(ground, {}))).toBeUndefined();
});

describe("what cannot be restored is said, and the rest is restored:", () => {
  type Row = [name: string, change: (ground: Ground) => void, path: string, reason: string];
  const rows: Row[] = [
    [
      "a file in .koda",
      (ground) => ground.write(".koda/x", ""),
      ".koda/x",
      '".koda/x" is protected: .koda is read-only',
    ],
    [
      "a file that was too large to be kept",
      (ground) => ground.write("huge", "1\n"),
      "huge",
      "its content was not kept",
    ],
    [
      "a file in whose place is a directory",
      (ground) => putDirectory(ground, "b"),
      "b",
      "directory not empty (ENOTEMPTY)",
    ],
    ["a file that git pruned in the same turn", (ground) => prune(ground, "c"), "c", "its content was not kept"],
  ];
  test.each(rows)("%s", async (_name, act, path, reason) => {
    await using ground = makeGround({ ".gitignore": "*.log\n", b: "b\n", c: "c\n", huge: "" });
    ground.git("init", "-q");
    ground.git("add", "-A");
    ground.write("a", "a\n");
    fs.truncateSync(join(ground.root, "huge"), 65 * mebibyte);
    await using snapshot = await ground.snapshot();
    ground.write("a", "changed\n");
    act(ground);
    const restored = (await snapshot.restore(live)).map(
      ({ path, problem }) => `${path} ${problem?.reason ?? "restored"}`,
    );
    expect(restored.sort()).toEqual([`${path} ${reason}`, "a restored"].sort());
  });

  function putDirectory(ground: Ground, path: string): void {
    ground.remove(path);
    ground.write(`${path}/mine.log`, "mine\n");
  }

  function prune(ground: Ground, path: string): void {
    ground.write(path, "2\n");
    ground.git("add", path);
    ground.git("gc", "-q", "--prune=now");
  }
});

test("nothing is written in .git or outside of the writable directories, whatever was stored", async () => {
  await using ground = makeGround({ ".git/config": "mine\n" });
  const storeIn = join(ground.home, "stored");
  fs.mkdirSync(storeIn);
  fs.writeFileSync(join(storeIn, "contents"), "evil");
  const file = { kind: "file", mode: 0o100755, content: { offset: 0, length: 4 } };
  const paths = [".git/hooks/pre-commit", "sub/.GIT/x", "x"];
  const entries = [{ path: ".git/config", kind: "missing" }, ...paths.map((path) => ({ path, ...file }))];
  fs.writeFileSync(join(storeIn, "manifest.json"), JSON.stringify({ takenAtMs: 0, entries }));
  await using stored = await openSnapshot(storeIn, policyOf(ground, { write: [join(ground.root, "sub")] }));
  const restored = (await stored?.restore(live)) ?? [];
  expect(restored.map(({ problem }) => problem?.kind)).toEqual(entries.map(() => "refused"));
  expect(pictureOf(ground.root)).toEqual({});
  expect(fs.readdirSync(join(ground.root, ".git"))).toEqual(["config"]);
});

test.each(["outside", "inside"])("a symlink to %s, put in the place of a directory, leads nowhere", async (target) => {
  await using ground = makeGround({ "dir/a": "a\n", "inside/a": "mine\n" });
  const targets = { outside: join(ground.home, "outside"), inside: join(ground.root, "inside") };
  fs.mkdirSync(targets.outside);
  fs.writeFileSync(join(targets.outside, "a"), "mine\n");
  const storeIn = join(ground.home, "stored");
  {
    await using snapshot = await ground.snapshot();
    ground.write("dir/a", "changed\n");
    ground.write("dir/b", "b\n");
    await snapshot.changes(live, { storeIn });
  }
  fs.renameSync(join(ground.root, "dir"), join(ground.root, "old"));
  fs.symlinkSync(target === "outside" ? targets.outside : "inside", join(ground.root, "dir"));
  await using stored = await openSnapshot(storeIn, policyOf(ground, {}));
  const problem = { kind: "refused", reason: "not a directory (ENOTDIR)" } as const;
  expect(await stored?.restore(live)).toEqual([{ path: "dir/a", problem }]);
  for (const directory of Object.values(targets)) {
    expect(fs.readdirSync(directory)).toEqual(["a"]);
    expect(fs.readFileSync(join(directory, "a"), "utf8")).toBe("mine\n");
  }
});
