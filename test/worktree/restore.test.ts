import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openSnapshot } from "../../lib/worktree/snapshot.ts";
import { policyOf } from "../support/policy.ts";
import { live, makeGround, summary, type Ground } from "../support/worktree.ts";

const mebibyte = 1024 * 1024;

/** Everything in a project but git's own directories: modes, contents and targets. */
function pictureOf(root: string): Record<string, string> {
  const picture: Record<string, string> = {};
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (/\/\.git(\/|$)/.test(path)) continue;
    const { mode } = lstatSync(path);
    const content = entry.isFile() ? Bun.hash(readFileSync(path)) : entry.isSymbolicLink() ? readlinkSync(path) : "";
    picture[path.slice(root.length + 1)] = `${mode.toString(8)} ${content}`;
  }
  return picture;
}

const files = {
  ".gitignore": "*.log\n",
  "a.txt": "a\n",
  "deep/er/b.txt": "b\n",
  "dir/c.txt": "c\n",
  "bin.dat": "a\0b",
  "run.sh": "true\n",
  file: "f\n",
  "linked/l.txt": "l\n",
};

/** A project with something of everything, in which a repository lies, and half of which git does not know. */
function makeProject(isRepository: boolean): Ground {
  const ground = makeGround(files);
  ground.link("a.txt", "link");
  chmodSync(join(ground.root, "run.sh"), 0o755);
  writeFileSync(join(ground.root, "large"), Buffer.alloc(11 * mebibyte, "large\n"));
  if (isRepository) {
    ground.git("init", "-q");
    ground.git("add", "-A");
    ground.git("commit", "-q", "-m", "start");
  }
  ground.write("a.txt", "dirty\n");
  ground.write("secret", "s\n");
  chmodSync(join(ground.root, "secret"), 0o600);
  ground.write("inner/x", "x\n");
  ground.git("init", "-q", "inner");
  ground.git("-C", "inner", "add", "x");
  ground.git("-C", "inner", "commit", "-q", "-m", "x");
  ground.write("inner/y", "y\n");
  writeFileSync(join(ground.root, "larger"), Buffer.alloc(12 * mebibyte, "larger\n"));
  mkdirSync(join(ground.root, "empty"));
  return ground;
}

/** What a turn may do to it. */
function change(ground: Ground): void {
  const at = (path: string) => join(ground.root, path);
  ground.write("a.txt", "changed\n");
  ground.remove("deep");
  ground.write("new/er/d.txt", "d\n");
  ground.write("empty/e.txt", "e\n");
  ground.write("bin.dat", "c\0d");
  chmodSync(at("run.sh"), 0o644);
  chmodSync(at("secret"), 0o644);
  ground.remove("link");
  ground.link("elsewhere", "link");
  ground.remove("file");
  ground.write("file/inside", "i\n");
  ground.remove("dir");
  ground.write("dir", "no directory\n");
  ground.write("inner/x", "x2\n");
  ground.remove("inner/y");
  ground.write("inner/z", "z\n");
  truncateSync(at("large"), 12 * mebibyte);
  ground.remove("larger");
  ground.remove("linked");
  ground.link(ground.home, "linked");
  ground.write("ignored.log", "log\n");
}

const changed = [
  "a.txt update +1 -1",
  "bin.dat update +null -null",
  "deep/er/b.txt delete +0 -1",
  "dir add +1 -0",
  "dir/c.txt delete +0 -1",
  "empty/e.txt add +1 -0",
  "file delete +0 -1",
  "file/inside add +1 -0",
  "inner/x update +1 -1",
  "inner/y delete +0 -1",
  "inner/z add +1 -0",
  "large update +null -null",
  "larger delete +null -null",
  "link update +1 -1",
  "linked add +1 -0",
  "linked/l.txt delete +0 -1",
  "new/er/d.txt add +1 -0",
  "run.sh update +0 -0",
];

const kinds = [
  { name: "a repository", isRepository: true, options: {} },
  { name: "a directory", isRepository: false, options: {} },
  { name: "a repository where there is no git program", isRepository: true, options: { searchPath: "/nowhere" } },
];

describe.each(kinds)("in $name", ({ isRepository, options }) => {
  test("what a turn did is told, and undone byte for byte", async () => {
    await using ground = makeProject(isRepository);
    await using snapshot = await ground.snapshot(options);
    const before = pictureOf(ground.root);
    change(ground);
    expect(summary(await snapshot.changes(live))).toEqual(changed);

    const restored = await snapshot.restore(live);
    expect(restored.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(restored.map(({ path }) => path).sort()).toEqual(
      [...changed.map((line) => line.split(" ")[0] ?? ""), "secret"].sort(),
    );
    const { "ignored.log": ignored, ...after } = pictureOf(ground.root);
    expect(ignored).toBeDefined();
    expect(after).toEqual(before);
    expect(await snapshot.restore(live)).toEqual([]);
  });

  test("a later process can undo it, without the objects that git prunes and without the run's directory", async () => {
    await using ground = makeProject(isRepository);
    const before = pictureOf(ground.root);
    const storeIn = join(ground.home, "stored");
    {
      await using snapshot = await ground.snapshot(options);
      change(ground);
      await snapshot.changes(live, { storeIn });
    }
    if (isRepository) {
      // No commit and no index leads to the old contents any more.
      rmSync(join(ground.root, ".git/refs"), { recursive: true });
      mkdirSync(join(ground.root, ".git/refs"));
      rmSync(join(ground.root, ".git/logs"), { recursive: true });
      rmSync(join(ground.root, ".git/index"));
      ground.git("gc", "-q", "--prune=now");
    }
    expect(readdirSync(ground.temporary)).toEqual(["run"]);
    rmSync(ground.temporary, { recursive: true });
    expect(restoreElsewhere(ground, storeIn)).toEqual([]);
    const { "ignored.log": _, ...after } = pictureOf(ground.root);
    expect(after).toEqual(before);
  });
});

/** Restores in a process of its own, and returns what it could not. */
function restoreElsewhere(ground: Ground, directory: string): unknown {
  const policy = policyOf(ground, {});
  const script = `
    const { openSnapshot } = await import(${JSON.stringify(join(import.meta.dir, "../../lib/worktree/snapshot.ts"))});
    const snapshot = openSnapshot(${JSON.stringify(directory)}, ${JSON.stringify(policy)});
    const restored = await snapshot.restore(new AbortController().signal);
    console.log(JSON.stringify(restored.filter(({ problem }) => problem !== undefined)));`;
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

test("nothing is stored of a turn that changed nothing", async () => {
  await using ground = makeGround({ a: "a\n" });
  await using snapshot = await ground.snapshot();
  const storeIn = join(ground.home, "stored");
  await snapshot.changes(live, { storeIn });
  expect(existsSync(storeIn)).toBe(false);
  expect(openSnapshot(storeIn, policyOf(ground, {}))).toBeUndefined();
});

test("what is stored is for its owner alone, and a second look replaces it", async () => {
  await using ground = makeGround({ a: "a\n" });
  await using snapshot = await ground.snapshot();
  const storeIn = join(ground.home, "stored");
  for (const text of ["1\n", "2\n"]) {
    ground.write("a", text);
    await snapshot.changes(live, { storeIn });
  }
  const modes = [storeIn, ...readdirSync(storeIn).map((name) => join(storeIn, name))].map(
    (path) => lstatSync(path).mode,
  );
  expect(modes.map((mode) => mode & 0o077)).toEqual([0, 0, 0]);
  await using stored = openSnapshot(storeIn, policyOf(ground, {}));
  expect(summary((await stored?.changes(live)) ?? { files: [], patch: "", notes: [] })).toEqual(["a update +1 -1"]);
});

describe("what cannot be restored is said, and the rest is restored", () => {
  type Row = [name: string, change: (ground: Ground) => void, path: string, reason: string];
  const rows: Row[] = [
    [
      "a file in .koda",
      (ground) => ground.write(".koda/config.json", "{}"),
      ".koda/config.json",
      '".koda/config.json" is protected: .koda is read-only',
    ],
    [
      "a file of which too much would have to be kept",
      (ground) => ground.write("huge", "small\n"),
      "huge",
      "its content was not kept",
    ],
    [
      "a file that is a directory with other things in it",
      (ground) => {
        ground.remove("b");
        ground.write("b/mine.log", "mine\n");
      },
      "b",
      "directory not empty (ENOTEMPTY)",
    ],
  ];
  test.each(rows)("%s", async (_name, change, path, reason) => {
    await using ground = makeGround({ ".gitignore": "*.log\n", a: "a\n", b: "b\n", huge: "" });
    truncateSync(join(ground.root, "huge"), 65 * mebibyte);
    await using snapshot = await ground.snapshot({ searchPath: "/nowhere" });
    ground.write("a", "changed\n");
    change(ground);
    const restored = await snapshot.restore(live);
    expect(restored.map(({ path, problem }) => [path, problem?.reason])).toEqual(
      expect.arrayContaining([
        [path, reason],
        ["a", undefined],
      ]),
    );
    expect(readFileSync(join(ground.root, "a"), "utf8")).toBe("a\n");
  });

  test("what git pruned during the turn", async () => {
    await using ground = makeGround({ a: "a\n", b: "b\n" });
    ground.git("init", "-q");
    ground.git("add", "-A");
    ground.write("b", "dirty\n");
    await using snapshot = await ground.snapshot();
    ground.write("a", "2\n");
    ground.write("b", "2\n");
    ground.git("add", "-A");
    ground.git("gc", "-q", "--prune=now");
    expect(await snapshot.restore(live)).toEqual([
      { path: "a", problem: { kind: "lost", reason: "its content was not kept" } },
      { path: "b" },
    ]);
  });

  test("what lies outside of the writable directories", async () => {
    await using ground = makeGround({ a: "a\n" });
    await using snapshot = await ground.snapshot({ rules: { write: [] } });
    ground.write("a", "changed\n");
    const [restored] = await snapshot.restore(live);
    expect(restored?.problem).toEqual({ kind: "refused", reason: '"a" is outside the writable directories' });
    expect(readFileSync(join(ground.root, "a"), "utf8")).toBe("changed\n");
  });
});

test("nothing is written in .git, whatever was stored", async () => {
  await using ground = makeGround({ ".git/config": "mine\n" });
  const storeIn = join(ground.home, "stored");
  mkdirSync(storeIn);
  writeFileSync(join(storeIn, "contents"), "evil");
  const file = { kind: "file", mode: 0o100755, content: { offset: 0, length: 4 } };
  const entries = [
    { path: ".git/config", kind: "missing" },
    { path: ".git/hooks/pre-commit", ...file },
    { path: "sub/.GIT/x", ...file },
  ];
  writeFileSync(join(storeIn, "manifest.json"), JSON.stringify({ takenAtMs: 0, entries }));
  await using stored = openSnapshot(storeIn, policyOf(ground, {}));
  const restored = (await stored?.restore(live)) ?? [];
  expect(restored.map(({ problem }) => problem?.kind)).toEqual(["refused", "refused", "refused"]);
  expect(Object.keys(pictureOf(ground.root))).toEqual([]);
  expect(readdirSync(join(ground.root, ".git"))).toEqual(["config"]);
});

test.each(["outside", "inside"])("a symlink to %s, put in the place of a directory, leads nowhere", async (target) => {
  await using ground = makeGround({ "dir/a": "a\n", "inside/a": "mine\n" });
  const targets = { outside: join(ground.home, "outside"), inside: join(ground.root, "inside") };
  mkdirSync(targets.outside);
  writeFileSync(join(targets.outside, "a"), "mine\n");
  const storeIn = join(ground.home, "stored");
  {
    await using snapshot = await ground.snapshot();
    ground.write("dir/a", "changed\n");
    ground.write("dir/b", "b\n");
    await snapshot.changes(live, { storeIn });
  }
  renameSync(join(ground.root, "dir"), join(ground.root, "old"));
  symlinkSync(target === "outside" ? targets.outside : "inside", join(ground.root, "dir"));
  await using stored = openSnapshot(storeIn, policyOf(ground, {}));
  expect(await stored?.restore(live)).toEqual([
    { path: "dir/a", problem: { kind: "refused", reason: "not a directory (ENOTDIR)" } },
  ]);
  for (const directory of Object.values(targets)) {
    expect(readdirSync(directory)).toEqual(["a"]);
    expect(readFileSync(join(directory, "a"), "utf8")).toBe("mine\n");
  }
});
