import { describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { join } from "node:path";
import { manifestPath, type Manifest } from "../../lib/worktree/record.ts";
import { live, makeGround, summary, undo, type Ground } from "../support/worktree.ts";

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
  "%s is restored byte for byte, after git pruned its objects and the run's directory is gone",
  async (_name, isRepository, options) => {
    await using ground = makeProject(isRepository);
    const before = pictureOf(ground.root);
    {
      await using snapshot = await ground.snapshot(options);
      change(ground);
      expect(summary(await snapshot.record(ground.key(), live))).toEqual(changed);
    }
    if (isRepository) {
      // No commit and no index leads to the old contents any more.
      for (const path of [".git/refs/heads", ".git/logs", ".git/index"])
        fs.rmSync(join(ground.root, path), { recursive: true });
      fs.mkdirSync(join(ground.root, ".git/refs/heads"));
      ground.git("gc", "-q", "--prune=now");
    }
    fs.rmSync(ground.temporary, { recursive: true });
    expect(await undo(ground.key())).toMatchObject({ kept: [], lost: [] });
    const { "ignored.log": ignored, ...after } = pictureOf(ground.root);
    expect(after).toEqual(before);
    expect(ignored).toBeDefined();
    expect(await undo(ground.key())).toMatchObject({ restored: [], kept: [], lost: [] });
  },
);

test("a directory that was moved leaves no empty one behind", async () => {
  await using ground = makeGround({ "a/b/c": "c\n", "a/d": "d\n", "kept/x": "x\n" });
  fs.mkdirSync(join(ground.root, "empty"));
  const before = pictureOf(ground.root);
  await using snapshot = await ground.snapshot();
  fs.renameSync(join(ground.root, "a"), join(ground.root, "moved"));
  fs.mkdirSync(join(ground.root, "new"));
  fs.renameSync(join(ground.root, "moved/b"), join(ground.root, "new/b"));
  ground.write("empty/y", "y\n");
  await snapshot.record(ground.key(), live);
  await undo(ground.key());
  expect(pictureOf(ground.root)).toEqual(before);
});

test("a directory in the place of a committed file comes back with its files", async () => {
  await using ground = makeGround({ "a.txt": "a\n", place: "was a file\n" });
  ground.commit();
  ground.remove("place");
  ground.write("place/inner/b", "b\n");
  const before = pictureOf(ground.root);
  await using snapshot = await ground.snapshot();
  ground.remove("place");
  await snapshot.record(ground.key(), live);
  await undo(ground.key());
  expect(pictureOf(ground.root)).toEqual(before);
});

test.each([true, false])("a file that was ignored is not new when the rules change (repository: %s)", async (isGit) => {
  await using ground = makeGround({ ".gitignore": "*.log\nsecret\n", "a/.gitignore": "own\n", "a/b": "b\n" });
  if (isGit) ground.commit();
  const ignored = { "x.log": "x\n", "a/secret": "s\n", "a/own": "o\n" };
  for (const [path, text] of Object.entries(ignored)) ground.write(path, text);
  await using snapshot = await ground.snapshot();
  ground.write(".gitignore", "*.log\n");
  ground.remove("a/.gitignore");
  for (const path of Object.keys(ignored)) ground.write(path, "changed\n");
  ground.write("a/new", "n\n");
  const diff = await snapshot.record(ground.key(), live);
  expect(summary(diff)).toEqual([".gitignore update +0 -1", "a/.gitignore delete +0 -1", "a/new add +1 -0"]);
  await undo(ground.key());
  for (const path of Object.keys(ignored)) expect(fs.readFileSync(join(ground.root, path), "utf8")).toBe("changed\n");
  expect(fs.existsSync(join(ground.root, "a/new"))).toBe(false);
});

describe("the user's own work is named and kept:", () => {
  type Row = [name: string, turn: (ground: Ground) => void, user: (ground: Ground) => void, path: string];
  const rows: Row[] = [
    ["an edit", (g) => g.write("a", "1\n"), (g) => g.write("a", "mine\n"), "a"],
    ["an edit of a new file", (g) => g.write("new", "1\n"), (g) => g.write("new", "mine\n"), "new"],
    ["a file in the place of a deleted one", (g) => g.remove("a"), (g) => g.write("a", "mine\n"), "a"],
    ["a deletion", (g) => g.write("a", "1\n"), (g) => g.remove("a"), "a"],
    ["permissions", (g) => g.write("a", "1\n"), (g) => g.makeExecutable("a"), "a"],
    ["a symlink", (g) => g.write("a", "1\n"), (g) => (g.remove("a"), g.link("b", "a")), "a"],
    ["a file where a directory was", (g) => g.remove("dir"), (g) => g.write("dir", "mine\n"), "dir/c"],
    ["a directory where a file was", (g) => g.remove("a"), (g) => g.write("a/mine", "mine\n"), "a"],
    ["a symlink where a directory was", (g) => g.remove("dir"), (g) => g.link("other", "dir"), "dir/c"],
  ];
  test.each(rows)("%s", async (_name, turn, user, path) => {
    await using ground = makeGround({ a: "a\n", b: "b\n", "dir/c": "c\n", "other/c": "other\n" });
    await using snapshot = await ground.snapshot();
    ground.write("b", "1\n");
    turn(ground);
    await snapshot.record(ground.key(), live);
    user(ground);
    const { b: _, ...before } = pictureOf(ground.root);
    const { kept, lost, restored } = await undo(ground.key());
    expect(kept.map((each) => each.path)).toEqual([join(ground.root, path)]);
    expect([lost, restored.map((each) => each.path)]).toEqual([[], [join(ground.root, "b")]]);
    const { b, ...after } = pictureOf(ground.root);
    expect(after).toEqual(before);
    expect(b).toEndWith(` ${Bun.hash("b\n")}`);
  });
});

describe("what cannot be restored is known before anything is touched:", () => {
  type Row = [name: string, change: (ground: Ground) => void, path: string, reason: string];
  const tooLarge = "its content was not kept: it was larger than 64 MiB, or git did not have it";
  const rows: Row[] = [
    ["a file that was too large to be kept", (ground) => ground.write("huge", "1\n"), "huge", tooLarge],
    ["a file that git pruned in the same turn", (ground) => prune(ground, "c"), "c", tooLarge],
  ];
  test.each(rows)("%s", async (_name, act, path, reason) => {
    await using ground = makeGround({ b: "b\n", c: "c\n", huge: "" });
    ground.git("init", "-q");
    ground.git("add", "-A");
    ground.write("a", "a\n");
    fs.truncateSync(join(ground.root, "huge"), 65 * mebibyte);
    await using snapshot = await ground.snapshot();
    ground.write("a", "changed\n");
    act(ground);
    await snapshot.record(ground.key(), live);
    const { lost, restored } = await undo(ground.key());
    expect(lost).toEqual([{ path: join(ground.root, path), reason }]);
    expect(restored.map((each) => each.path)).toEqual([join(ground.root, "a")]);
  });

  function prune(ground: Ground, path: string): void {
    ground.write(path, "2\n");
    ground.git("add", path);
    ground.git("gc", "-q", "--prune=now");
  }
});

test("a large file that a turn made is deleted again", async () => {
  await using ground = makeGround();
  await using snapshot = await ground.snapshot();
  ground.write("huge", "");
  fs.truncateSync(join(ground.root, "huge"), 65 * mebibyte);
  await snapshot.record(ground.key(), live);
  expect(await undo(ground.key())).toMatchObject({ kept: [], lost: [] });
  expect(pictureOf(ground.root)).toEqual({});
});

test("what is stored is for its owner alone, and nothing is when nothing is different", async () => {
  await using ground = makeGround({ a: "a\n" });
  await using snapshot = await ground.snapshot();
  const { snapshots } = ground.key();
  await snapshot.record(ground.key(), live);
  expect(fs.existsSync(snapshots)).toBe(false);
  ground.write("a", "1\n");
  await snapshot.record(ground.key(), live);
  const paths = fs.readdirSync(snapshots, { recursive: true }).map((name) => join(snapshots, String(name)));
  expect(paths).toHaveLength(5);
  expect([snapshots, ...paths].map((path) => fs.lstatSync(path).mode & 0o077)).toEqual(Array(6).fill(0));
});

test("nothing is written in .git or outside of the project, whatever was stored", async () => {
  await using ground = makeGround({ ".git/config": "mine\n" });
  const state = { kind: "file", mode: 0o100755, hash: "0".repeat(64) } as const;
  const stored = (path: string): Manifest => {
    const change = { path, before: state, after: { kind: "missing" } as const };
    return { root: ground.root, changes: [change], made: [], removed: [] };
  };
  const put = (manifests: readonly Manifest[]) => {
    fs.mkdirSync(join(manifestPath(ground.key()), ".."), { recursive: true });
    fs.writeFileSync(manifestPath(ground.key()), JSON.stringify(manifests));
  };
  put([stored(".git/hooks/pre-commit"), stored("sub/.GIT/x")]);
  expect((await undo(ground.key())).lost.map(({ reason }) => reason)).toEqual([
    "it is protected: .git is left as it is",
    "it is protected: .git is left as it is",
  ]);
  for (const path of ["../x", "a/../../x", "/x", ""]) {
    put([stored(path)]);
    await expect(undo(ground.key())).rejects.toThrow("damaged");
  }
  expect(fs.readdirSync(join(ground.root, ".git"))).toEqual(["config"]);
});
