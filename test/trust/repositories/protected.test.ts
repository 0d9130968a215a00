import { describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { ProtectedPaths } from "../../../lib/trust/repositories/protected.ts";
import { makePlace, type Place } from "../../support/place.ts";
import { bareFiles, directory, live, writeFiles, type Files } from "./repository.ts";

function shown({ paths }: ProtectedPaths, { project }: Place): string[] {
  return paths.map((path) => relative(project, path) || ".").sort();
}

function bareAt(path: string): Files {
  return Object.fromEntries(Object.entries(bareFiles).map(([name, content]) => [`${path}/${name}`, content]));
}

const forms: [title: string, files: Files, expected: string[]][] = [
  ["nothing", { "src/a": "" }, []],
  ["a repository, and nothing in it", { ".git/HEAD": "", ".git/modules/x/HEAD": "", ".git/x/.git/HEAD": "" }, [".git"]],
  ["nested ones", { ".git/HEAD": "", "a/b/.git/HEAD": "", "c/.git": directory }, [".git", "a/b/.git", "c/.git"]],
  ["names in capitals", { "a/.GIT/HEAD": "", "b/.Koda": directory }, ["a/.GIT", "b/.Koda"]],
  ["koda's own", { ".koda/config.json": "{}", "a/.koda": "" }, [".koda", "a/.koda"]],
  ["koda's own, elsewhere", { ".koda": { link: "settings" }, "settings/config.json": "{}" }, [".koda", "settings"]],
  ["a submodule", { ".git/modules/s/HEAD": "", "s/.git": "gitdir: ../.git/modules/s\n" }, [".git", "s/.git"]],
  ["a git directory elsewhere", { "s/.git": "gitdir: ../gd\n", "gd/HEAD": "" }, ["gd", "s/.git"]],
  [
    "a work tree of another repository",
    { "w/.git": "gitdir: ../m/.git/worktrees/w\n", "m/.git/worktrees/w/commondir": "../..\n" },
    ["m/.git", "w/.git"],
  ],
  ["a common directory elsewhere", { "w/.git/commondir": "../../common\n", "common/config": "" }, ["common", "w/.git"]],
  [
    "symlinks to symlinks, and each on the way",
    { ".git": { link: "a" }, a: { link: "d/b" }, d: { link: "real" }, "real/b/HEAD": "" },
    [".git", "a", "d", "real/b"],
  ],
  ["a symlink to a file", { ".git": { link: "f" }, f: "gitdir: gd\n", "gd/HEAD": "" }, [".git", "f", "gd"]],
  ["what is outside needs none", { ".git": { link: "/etc" }, "s/.git": "gitdir: /usr\n" }, [".git", "s/.git"]],
  ["what is missing cannot have any", { ".git": { link: "none" }, "s/.git": "gitdir: ../none\n" }, [".git", "s/.git"]],
  ["a circle", { ".git": { link: ".git" }, "s/.git": "gitdir: .git\n" }, [".git", "s/.git"]],
  ["a bare repository", bareAt("b"), ["b"]],
  ["one that has its parts elsewhere", { "b/HEAD": "", "b/commondir": "../c\n", "c/config": "" }, ["b", "c"]],
  ["not quite a repository", { "b/HEAD": "", "b/objects": directory, "c/objects": directory, "c/refs": directory }, []],
];

test.each(forms)("protected: %s", async (_, files, expected) => {
  await using place = makePlace();
  writeFiles(place.project, files);
  expect(shown(await ProtectedPaths.find([place.project], live), place)).toEqual(expected);
});

test("every root is looked through, and a symlink to a directory is not followed", async () => {
  await using place = makePlace({ "one/.git/HEAD": "", "two/.git/HEAD": "", "other/.git/HEAD": "" });
  symlinkSync("../other", join(place.project, "one/link"));
  const roots = ["one", "two", "two"].map((name) => join(place.project, name));
  expect(shown(await ProtectedPaths.find(roots, live), place)).toEqual(["one/.git", "two/.git"]);
});

test("what is too much for git to read leads nowhere, and is no hindrance", async () => {
  await using place = makePlace({ "s/.git": "x".repeat(2_000_000) });
  Bun.spawnSync(["mkfifo", join(place.project, ".git")]);
  expect(shown(await ProtectedPaths.find([place.project], live), place)).toEqual([".git", "s/.git"]);
});

test("a directory whose name is not UTF-8 is noted, since nothing can be found below it", async () => {
  await using place = makePlace({ "x/.git/HEAD": "" });
  const odd = Buffer.concat([Buffer.from(`${place.project}/`), Buffer.from([0xff])]);
  renameSync(join(place.project, "x"), odd);
  const paths = await ProtectedPaths.find([place.project], live);
  expect(paths.odd).toEqual([odd]);
});

test("a look that is stopped ends", async () => {
  await using place = makePlace({ "a/b": "" });
  expect(ProtectedPaths.find([place.project], AbortSignal.abort())).rejects.toThrow();
});

describe("a later look", () => {
  async function lookedAfter(files: Files, change: (project: string) => void) {
    const place = makePlace();
    writeFiles(place.project, files);
    // Long ago, so that the listings need not be read again for their age.
    const paths = await ProtectedPaths.find([place.project], live);
    change(place.project);
    await paths.look(live);
    const appeared = paths.appeared.map(({ path }) => relative(place.project, path)).sort();
    const stillThere = shown(paths, place);
    await place[Symbol.asyncDispose]();
    return { appeared, protected: stillThere };
  }

  test("tells what has appeared from what was there", async () => {
    const seen = await lookedAfter({ ".git/HEAD": "", "deep/er/x": "" }, (project) => {
      writeFiles(project, { "deep/er/.git/HEAD": "", ".koda": "", "b/.git": "gitdir: ../.git\n" });
    });
    expect(seen).toEqual({ appeared: [".koda", "b/.git", "deep/er/.git"], protected: [".git"] });
  });

  test("sees a directory that became a repository by one file", async () => {
    const seen = await lookedAfter({ "b/HEAD": "", "b/objects/x": "" }, (project) =>
      mkdirSync(join(project, "b/refs")),
    );
    expect(seen.appeared).toEqual(["b"]);
  });

  test("knows a repository again that was renamed with its directory", async () => {
    const seen = await lookedAfter({ "a/.git/HEAD": "" }, (project) =>
      renameSync(join(project, "a"), join(project, "b")),
    );
    expect(seen).toEqual({ appeared: [], protected: ["b/.git"] });
  });

  test("takes nothing for it that is in its place", async () => {
    const seen = await lookedAfter({ "a/.git/HEAD": "" }, (project) => {
      rmSync(join(project, "a/.git"), { recursive: true });
      mkdirSync(join(project, "a/.git"));
    });
    expect(seen).toEqual({ appeared: ["a/.git"], protected: [] });
  });

  test("sees what has the times of before", async () => {
    const long = new Date(2020, 1, 1);
    const seen = await lookedAfter({ "a/x": "" }, (project) => {
      utimesSync(join(project, "a"), long, long);
      writeFiles(project, { "a/.git/HEAD": "" });
      utimesSync(join(project, "a"), long, long);
    });
    expect(seen.appeared).toEqual(["a/.git"]);
  });

  test("sees each of many changes that follow at once", async () => {
    await using place = makePlace({ "a/x": "" });
    const paths = await ProtectedPaths.find([place.project], live);
    for (let round = 0; round < 50; round++) {
      mkdirSync(join(place.project, "a/.git"));
      await paths.look(live);
      expect(paths.appeared).toHaveLength(1);
      rmSync(join(place.project, "a/.git"), { recursive: true });
      await paths.look(live);
      expect(paths.appeared).toHaveLength(0);
    }
  });
});

test("directories that vanish during a look do not stop it", async () => {
  await using place = makePlace({ ".git/HEAD": "" });
  for (let number = 0; number < 200; number++) mkdirSync(join(place.project, `d/${number}/e`), { recursive: true });
  const looking = ProtectedPaths.find([place.project], live);
  // In its first pause.
  await new Promise((resolve) => setImmediate(resolve));
  rmSync(join(place.project, "d"), { recursive: true });
  writeFileSync(join(place.project, "d"), "");
  expect(shown(await looking, place)).toEqual([".git"]);
});
