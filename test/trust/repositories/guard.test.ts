import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { levelOf, type RepositoryFinding } from "../../../lib/trust/repositories/finding.ts";
import { Guard } from "../../../lib/trust/repositories/guard.ts";
import { NewRepositories } from "../../../lib/trust/repositories/newrepositories.ts";
import { ProtectedPaths } from "../../../lib/trust/repositories/protected.ts";
import { makePlace } from "../../support/place.ts";
import { runGit } from "../../support/worktree.ts";
import { directory, live, writeFiles, type Files } from "./repository.ts";

const repository: Files = {
  ".git/HEAD": "ref: refs/heads/main\n",
  ".git/config": "[core]\n\tbare = false\n",
  ".git/hooks/pre-commit": { program: "mine" },
  ".git/hooks/pre-commit.sample": "sample",
  ".git/link": { link: "HEAD" },
  ".git/refs/heads/main": "a".repeat(40),
  ".git/objects/aa/bb": "object",
  ".git/objects/info": directory,
  ".git/empty": directory,
  ".koda/config.json": "{}",
  "src/a": "a",
};

/** Guards a project while `command` works in it. */
async function guarded(
  command: (at: (path: string) => string) => unknown,
  files = repository,
  { open, isMounted = false }: { open?: string; isMounted?: boolean } = {},
) {
  const place = makePlace();
  const { project, home } = place;
  writeFiles(project, files);
  const at = (path: string) => join(project, path);
  const paths = await ProtectedPaths.find([project], live);
  const guard = new Guard(paths, {
    quarantine: join(home, "quarantine"),
    open: open === undefined ? undefined : at(open),
    isMounted,
  });
  await guard.begin();
  await command(at);
  const findings = await guard.end();
  return { ...place, at, guard, paths, findings, quarantined: () => filesBelow(join(home, "quarantine")) };
}

function filesBelow(path: string): string[] {
  return [...new Bun.Glob("**").scanSync({ cwd: path, dot: true })].map((name) => name.replace(/^[^/]*\//, "")).sort();
}

/** What is below a directory, with modes, contents and targets; without times. */
function pictureOf(path: string): unknown {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return readlinkSync(path);
  if (stats.isFile()) return [stats.mode, readFileSync(path, "utf8")];
  return [
    stats.mode,
    Object.fromEntries(
      readdirSync(path)
        .sort()
        .map((name) => [name, pictureOf(join(path, name))]),
    ),
  ];
}

const parts = (findings: readonly RepositoryFinding[]) =>
  findings.flatMap((finding) => (finding.kind === "restored" ? [...finding.parts].sort() : [finding.kind]));

const changes: [title: string, change: (at: (path: string) => string) => void, parts: string[]][] = [
  ["a config that was written to", (at) => writeFileSync(at(".git/config"), "evil"), ["config"]],
  ["a config of the same length", (at) => writeFileSync(at(".git/config"), "[core]\n\tbare = FALSE\n"), ["config"]],
  [
    "a config with the times of before",
    (at) => {
      const { atime, mtime } = statSync(at(".git/config"));
      writeFileSync(at(".git/config"), "[core]\n\tbare = FALSE\n");
      utimesSync(at(".git/config"), atime, mtime);
    },
    ["config"],
  ],
  ["a config that is gone", (at) => unlinkSync(at(".git/config")), ["config"]],
  [
    "a config that is a symlink now",
    (at) => {
      renameSync(at(".git/config"), at("src/config"));
      symlinkSync("../src/config", at(".git/config"));
    },
    ["config"],
  ],
  [
    "a config that is a directory now",
    (at) => {
      unlinkSync(at(".git/config"));
      mkdirSync(at(".git/config/deep"), { recursive: true });
    },
    ["config"],
  ],
  ["a hook that was added", (at) => writeFileSync(at(".git/hooks/post-commit"), "evil"), ["hooks/post-commit"]],
  ["a directory that was added", (at) => mkdirSync(at(".git/worktrees/x"), { recursive: true }), ["worktrees"]],
  ["a mode", (at) => chmodSync(at(".git/hooks/pre-commit.sample"), 0o755), ["hooks/pre-commit.sample"]],
  ["the mode of a directory", (at) => chmodSync(at(".git/hooks"), 0o777), ["hooks"]],
  ["a commondir", (at) => writeFileSync(at(".git/commondir"), "../src\n"), ["commondir"]],
  ["objects of others", (at) => writeFileSync(at(".git/objects/info/alternates"), "/x\n"), ["objects/info/alternates"]],
  [
    "a symlink that leads elsewhere",
    (at) => {
      unlinkSync(at(".git/link"));
      symlinkSync("config", at(".git/link"));
    },
    ["link"],
  ],
  [
    "a directory that is gone",
    (at) => rmSync(at(".git/hooks"), { recursive: true }),
    ["hooks", "hooks/pre-commit", "hooks/pre-commit.sample"],
  ],
  ["an empty one that is gone", (at) => rmSync(at(".git/empty"), { recursive: true }), ["empty"]],
  ["a branch", (at) => writeFileSync(at(".git/refs/heads/main"), "b".repeat(40)), ["refs/heads/main"]],
  ["koda's settings", (at) => writeFileSync(at(".koda/config.json"), '{"a":1}'), ["config.json"]],
  ["a repository that was renamed", (at) => renameSync(at(".git"), at("src/x")), [".git"]],
  [
    "a repository that was renamed and changed",
    (at) => {
      renameSync(at(".git"), at("src/.git"));
      writeFileSync(at("src/.git/config"), "evil");
    },
    [".git", "config"],
  ],
  [
    "a repository in whose place is another",
    (at) => {
      mkdirSync(at("new"));
      renameSync(at(".git"), at("new/old"));
      renameSync(at("new"), at(".git"));
    },
    [".git"],
  ],
  [
    "a repository in whose place is a file",
    (at) => {
      renameSync(at(".git"), at("src/old"));
      writeFileSync(at(".git"), "gitdir: src/old\n");
    },
    [".git"],
  ],
];

test.each(changes)("restored: %s", async (_, change, expected) => {
  await using reference = makePlace();
  writeFiles(reference.project, repository);
  await using run = await guarded(change);
  expect(parts(run.findings)).toEqual(expected);
  expect(run.findings.map(levelOf)).toEqual(["warn"]);
  for (const name of [".git", ".koda"])
    expect(pictureOf(run.at(name))).toEqual(pictureOf(join(reference.project, name)));
});

describe("nothing is said", () => {
  const quiet: [title: string, change: (at: (path: string) => string) => void][] = [
    ["when nothing happened", () => undefined],
    ["of files that are not protected", (at) => writeFileSync(at("src/a"), "b")],
    ["of new objects", (at) => writeFileSync(at(".git/objects/aa/cc"), "new")],
    ["of a file that was read or touched", (at) => utimesSync(at(".git/config"), new Date(), new Date())],
    [
      "of a file that was written anew as it was",
      (at) => writeFileSync(at(".git/config"), readFileSync(at(".git/config"))),
    ],
    ["of the locks of the user's own git", (at) => writeFileSync(at(".git/index.lock"), "")],
  ];

  test.each(quiet)("%s", async (_, change) => {
    await using run = await guarded(change);
    expect(run.findings).toEqual([]);
  });
});

test("a FIFO may go, but nothing may take its place", async () => {
  await using run = await guarded(() => undefined);
  Bun.spawnSync(["mkfifo", run.at(".git/fifo")]);
  await run.guard.begin();
  rmSync(run.at(".git/fifo"));
  expect(await run.guard.restore()).toEqual([]);
  writeFileSync(run.at(".git/fifo"), "evil");
  expect(parts(await run.guard.end())).toEqual(["fifo"]);
  expect(existsSync(run.at(".git/fifo"))).toBe(false);
});

test("what a command added is kept in the quarantine", async () => {
  await using run = await guarded((at) => writeFileSync(at(".git/hooks/post-commit"), "evil"));
  expect(run.quarantined()).toEqual(["post-commit"]);
});

test("a restored file has its times, by which git tells what it must look at", async () => {
  const before = new Date(2020, 1, 1);
  await using run = await guarded((at) => writeFileSync(at(".git/index"), "y"), { ...repository, ".git/index": "x" });
  expect(parts(run.findings)).toEqual(["index"]);
  await using other = await guarded(() => undefined);
  writeFileSync(other.at(".git/index"), "x");
  utimesSync(other.at(".git/index"), before, before);
  await other.guard.begin();
  writeFileSync(other.at(".git/index"), "y");
  await other.guard.end();
  expect(statSync(other.at(".git/index")).mtimeMs).toBe(before.getTime());
});

test("a repository that is gone is restored as far as it was remembered, and the rest is said to be lost", async () => {
  await using run = await guarded((at) => rmSync(at(".git"), { recursive: true }));
  const [finding] = run.findings;
  if (finding?.kind !== "restored") throw new Error("it was restored");
  expect(finding.parts).toContain("config");
  expect(finding.lost).toEqual(["objects"]);
  expect(levelOf(finding)).toBe("error");
  expect(readFileSync(run.at(".git/config"), "utf8")).toBe("[core]\n\tbare = false\n");
});

test("a directory that is renamed with the repository in it is left where it is, and the repository is restored there", async () => {
  const files: Files = { "sub/.git/HEAD": "", "sub/.git/config": "mine", "sub/a": "", "other/x": "" };
  await using run = await guarded((at) => {
    renameSync(at("sub"), at("other/sub"));
    writeFileSync(at("other/sub/.git/config"), "evil");
  }, files);
  expect(readFileSync(run.at("other/sub/.git/config"), "utf8")).toBe("mine");
  expect(existsSync(run.at("sub"))).toBe(false);
  expect(run.findings.map(levelOf)).toEqual(["warn"]);
});

test("a .git file and a .git symlink are restored", async () => {
  const files: Files = { "s/.git": "gitdir: ../gd\n", "gd/HEAD": "", "l/.git": { link: "../gd" } };
  await using run = await guarded((at) => {
    writeFileSync(at("s/.git"), "gitdir: ../evil\n");
    unlinkSync(at("l/.git"));
    symlinkSync("../evil", at("l/.git"));
    writeFileSync(at("gd/config"), "evil");
  }, files);
  expect(readFileSync(run.at("s/.git"), "utf8")).toBe("gitdir: ../gd\n");
  expect(readlinkSync(run.at("l/.git"))).toBe("../gd");
  expect(existsSync(run.at("gd/config"))).toBe(false);
  expect(run.findings).toHaveLength(3);
});

test("what was restored stays protected, and is not new", async () => {
  const pager = "[core]\n\tpager = mine\n";
  const files: Files = {
    ...repository,
    ".git/config": pager,
    "s/.git": "gitdir: ../.git/modules/s\n",
    ".git/modules/s/HEAD": "",
    ".git/modules/s/config": pager,
    "l/.git": { link: "../gd" },
    "gd/HEAD": "",
    "gd/config": pager,
  };
  await using run = await guarded((at) => {
    for (const path of [".git", "gd", "s/.git", "l/.git"]) rmSync(at(path), { recursive: true });
  }, files);
  const newcomers = new NewRepositories(run.paths, { quarantine: join(run.home, "quarantine") });
  const before = [...run.paths.paths].sort();
  expect(await newcomers.look(live)).toEqual([]);
  expect([...run.paths.paths].sort()).toEqual(before);
});

test("where mounts hold the rest, symlinks are restored all the same", async () => {
  const files: Files = { ...repository, "l/.git": { link: "../gd" }, "gd/HEAD": "" };
  const change = (at: (path: string) => string) => {
    unlinkSync(at("l/.git"));
    symlinkSync("../evil", at("l/.git"));
    writeFileSync(at(".git/config"), "as if it were mounted");
  };
  await using run = await guarded(change, files, { isMounted: true });
  expect(run.findings.map(({ path }) => path)).toEqual([run.at("l/.git")]);
});

test("a file that is too large to be kept is said to be lost when it changed", async () => {
  const files = { ...repository, ".git/large": "x".repeat(9_000_000) };
  await using run = await guarded((at) => writeFileSync(at(".git/large"), "y"), files);
  expect(run.findings).toMatchObject([{ kind: "restored", parts: [], lost: ["large"] }]);
  await using same = await guarded(() => undefined, files);
  expect(same.findings).toEqual([]);
});

test("commands that overlap share what was remembered before the first of them", async () => {
  await using run = await guarded(() => undefined);
  await run.guard.begin();
  writeFileSync(run.at(".git/config"), "evil");
  await run.guard.begin();
  expect(parts(await run.guard.restore())).toEqual(["config"]);
  writeFileSync(run.at(".git/config"), "evil again");
  expect(parts(await run.guard.end())).toEqual(["config"]);
  writeFileSync(run.at(".git/config"), "and again");
  expect(parts(await run.guard.end())).toEqual(["config"]);
  expect(readFileSync(run.at(".git/config"), "utf8")).toBe("[core]\n\tbare = false\n");
});

test("what the user changes between two commands stays", async () => {
  await using run = await guarded(() => undefined);
  for (const text of ["one", "two", "tre"]) {
    writeFileSync(run.at(".git/config"), text);
    await run.guard.begin();
    writeFileSync(run.at(".git/config"), "bad");
    await run.guard.end();
    expect(readFileSync(run.at(".git/config"), "utf8")).toBe(text);
  }
});

test("a symlink in the place of a directory leads the restoring nowhere", async () => {
  await using run = await guarded((at) => {
    mkdirSync(at("outside"));
    writeFileSync(at("outside/mine"), "mine");
    renameSync(at(".git/hooks"), at("src/hooks"));
    symlinkSync("../outside", at(".git/hooks"));
  });
  expect(readdirSync(run.at("outside"))).toEqual(["mine"]);
  expect(readdirSync(run.at(".git/hooks")).sort()).toEqual(["pre-commit", "pre-commit.sample"]);
});

test("a command that goes on changing things meanwhile leads the restoring nowhere", async () => {
  await using run = await guarded(() => undefined);
  mkdirSync(run.at("outside"));
  writeFileSync(run.at("outside/config"), "mine");
  for (let round = 0; round < 100; round++) {
    await run.guard.begin();
    writeFileSync(run.at(".git/config"), "evil");
    const restoring = run.guard.end();
    for (let pause = 0; pause < round % 5; pause++) await new Promise((resolve) => setImmediate(resolve));
    renameSync(run.at(".git"), run.at("away"));
    symlinkSync("outside", run.at(".git"));
    await restoring;
    rmSync(run.at(".git"), { recursive: true });
    if (existsSync(run.at("away"))) renameSync(run.at("away"), run.at(".git"));
    else writeFiles(run.project, { ".git/config": "x" });
    expect(readdirSync(run.at("outside"))).toEqual(["config"]);
    expect(readFileSync(run.at("outside/config"), "utf8")).toBe("mine");
  }
});

describe("where commands may commit", () => {
  const open = { open: ".git" };

  test("they can, and what git would run stays as it was", async () => {
    await using run = await guarded(
      (at) => {
        writeFileSync(at(".git/refs/heads/new"), "c".repeat(40));
        writeFileSync(at(".git/HEAD"), "ref: refs/heads/new\n");
        writeFileSync(at(".git/config"), "evil");
        writeFileSync(at(".git/config.worktree"), "evil");
        writeFileSync(at(".git/commondir"), "../src");
        writeFileSync(at(".git/hooks/pre-push"), "evil");
        writeFileSync(at(".git/objects/info/alternates"), "/x");
      },
      repository,
      open,
    );
    expect(parts(run.findings)).toEqual([
      "commondir",
      "config",
      "config.worktree",
      "hooks/pre-push",
      "objects/info/alternates",
    ]);
    expect(readFileSync(run.at(".git/HEAD"), "utf8")).toContain("new");
    expect(existsSync(run.at(".git/commondir"))).toBe(false);
  });

  test("the repository stays in its place", async () => {
    await using run = await guarded((at) => renameSync(at(".git"), at("src/x")), repository, open);
    expect(parts(run.findings)).toEqual([".git"]);
    expect(existsSync(run.at(".git/config"))).toBe(true);
  });

  test("its submodules' and work trees' configuration stays too", async () => {
    const files = { ...repository, ".git/modules/a/b/HEAD": "", ".git/worktrees/w/HEAD": "" };
    await using run = await guarded(
      (at) => {
        writeFileSync(at(".git/modules/a/b/config"), "evil");
        writeFileSync(at(".git/worktrees/w/config.worktree"), "evil");
      },
      files,
      open,
    );
    expect(parts(run.findings)).toEqual(["modules/a/b/config", "worktrees/w/config.worktree"]);
  });

  test("git itself can commit", async () => {
    await using place = makePlace({ a: "a" });
    const git = (...args: string[]) => runGit(place.project, place.env, args);
    git("init", "-q");
    const paths = await ProtectedPaths.find([place.project], live);
    const guard = new Guard(paths, { quarantine: place.home, open: join(place.project, ".git") });
    await guard.begin();
    git("add", "a");
    git("commit", "-qm", "a");
    git("branch", "b");
    git("stash", "list");
    expect(await guard.end()).toEqual([]);
    expect(git("log", "--oneline")).toContain(" a");
  });
});

test("objects that a command removed are told of, once, and those that git packed are not", async () => {
  const packs = { ".git/objects/pack/pack-1.pack": "x", ".git/objects/aa/bb": "x" };
  await using run = await guarded((at) => rmSync(at(".git/objects/aa"), { recursive: true }), {
    ...repository,
    ...packs,
  });
  expect(run.findings).toMatchObject([{ kind: "restored", parts: [], lost: ["objects"] }]);
  expect(run.findings.map(levelOf)).toEqual(["error"]);
  await run.guard.begin();
  expect(await run.guard.restore()).toEqual([]);
  rmSync(run.at(".git/objects/pack/pack-1.pack"));
  writeFileSync(run.at(".git/objects/pack/pack-2.pack"), "x");
  expect(await run.guard.end()).toEqual([]);
});
