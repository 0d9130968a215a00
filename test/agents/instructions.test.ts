import { expect, test } from "bun:test";
import { chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadInstructions } from "../../lib/agents/instructions.ts";
import { makePlace, type Place } from "../support/place.ts";

const placeWithGit = (files: Record<string, string> = {}) =>
  makePlace({ ".git/HEAD": "ref: refs/heads/main\n", ...files });

function textsIn(place: Place, directory = ""): string[] {
  return loadInstructions({ cwd: join(place.project, directory) }).blocks.map(({ text }) => text);
}

test("instructions are read from the repository's root down to the cwd", async () => {
  await using place = placeWithGit({
    "AGENTS.md": "root",
    "a/AGENTS.md": "a",
    "a/b/c/CLAUDE.md": "c",
    "z/AGENTS.md": "z",
  });
  const { blocks, notices, repository } = loadInstructions({ cwd: join(place.project, "a/b/c") });
  expect(blocks.map(({ text }) => text)).toEqual(["root", "a", "c"]);
  const paths = ["AGENTS.md", "a/AGENTS.md", "a/b/c/CLAUDE.md"].map((path) => join(place.project, path));
  expect(blocks.map(({ path }) => path)).toEqual(paths);
  expect(notices).toEqual([]);
  expect(repository).toBe(place.project);
});

test("of each directory the first counts: AGENTS.override.md, AGENTS.md, CLAUDE.md", async () => {
  await using place = placeWithGit({ "CLAUDE.md": "third" });
  expect(textsIn(place)).toEqual(["third"]);
  place.write("AGENTS.md", "second");
  expect(textsIn(place)).toEqual(["second"]);
  place.write("AGENTS.override.md", "first");
  expect(textsIn(place)).toEqual(["first"]);
});

test("nothing above the repository's root is read", async () => {
  await using place = makePlace({ "AGENTS.md": "above", "repo/.git/HEAD": "", "repo/AGENTS.md": "root" });
  expect(textsIn(place, "repo")).toEqual(["root"]);
});

test("a .git file, as a work tree or submodule has it, is a root too", async () => {
  await using place = placeWithGit({
    "AGENTS.md": "outer",
    "sub/.git": "gitdir: ../.git/modules/sub\n",
    "sub/x/AGENTS.md": "x",
  });
  expect(textsIn(place, "sub/x")).toEqual(["x"]);
});

test("without a repository only the cwd counts", async () => {
  await using place = makePlace({ "AGENTS.md": "above", "a/AGENTS.md": "here" });
  const { blocks, repository } = loadInstructions({ cwd: join(place.project, "a") });
  expect(blocks.map(({ text }) => text)).toEqual(["here"]);
  expect(repository).toBeUndefined();
});

test("a byte order mark is no part of the text, and an empty file is no instruction", async () => {
  await using place = placeWithGit({ "AGENTS.md": "\uFEFFroot", "a/AGENTS.md": " \n" });
  const { blocks } = loadInstructions({ cwd: join(place.project, "a") });
  expect(blocks.map(({ text }) => text)).toEqual(["root"]);
});

test("a link within the repository is followed", async () => {
  await using place = placeWithGit({ "AGENTS.md": "shared" });
  mkdirSync(join(place.project, "a"));
  symlinkSync("../AGENTS.md", join(place.project, "a/CLAUDE.md"));
  expect(textsIn(place, "a")).toEqual(["shared", "shared"]);
});

const unusable: [what: string, put: (path: string, place: Place) => void, problem: string][] = [
  ["a named pipe", (path) => Bun.spawnSync(["mkfifo", path]), "it is a named pipe, not a file"],
  ["a directory", (path) => mkdirSync(path), "it is a directory, not a file"],
  ["bytes that are no text", (path) => writeFileSync(path, new Uint8Array([0x61, 0, 0xff])), "it is not text"],
  ["a link to nothing", (path) => symlinkSync("nowhere", path), "it is a broken symbolic link"],
  ["a link to itself", (path) => symlinkSync("AGENTS.md", path), "too many levels of symbolic links"],
  [
    "a link to a file outside of the repository",
    (path, { home }) => {
      writeFileSync(join(home, "private"), "a secret");
      symlinkSync(join(home, "private"), path);
    },
    "it is a link out of",
  ],
  ["a link to a device", (path) => symlinkSync("/dev/zero", path), "it is a link out of"],
];

test.each(unusable)("%s is a notice that names the file, and the rest is read", async (_, put, problem) => {
  await using place = placeWithGit({ "a/AGENTS.md": "a", "CLAUDE.md": "not in its stead" });
  const path = join(place.project, "AGENTS.md");
  put(path, place);
  const { blocks, notices } = loadInstructions({ cwd: join(place.project, "a") });
  expect(blocks.map(({ text }) => text)).toEqual(["a"]);
  expect(notices).toEqual([expect.stringContaining(`The instructions "${path}" are not read: ${problem}`)]);
});

test("beyond 32 KiB in all they are cut on a whole character, with a notice that names the file", async () => {
  const [first, second] = ["x".repeat(30 * 1024), `${"y".repeat(2 * 1024 - 1)}€ and more`];
  await using place = placeWithGit({ "AGENTS.md": first, "a/AGENTS.md": second, "a/b/AGENTS.md": "too late" });
  const { blocks, notices } = loadInstructions({ cwd: join(place.project, "a/b") });
  expect(blocks.map(({ text }) => text)).toEqual([first, "y".repeat(2 * 1024 - 1)]);
  expect(notices).toEqual(
    ["a/AGENTS.md", "a/b/AGENTS.md"].map(
      (path) => `The instructions "${join(place.project, path)}" are cut: all together may have 32 KiB`,
    ),
  );
});

test("bytes that are not UTF-8 are replaced, with a notice that names the file", async () => {
  await using place = placeWithGit();
  const path = place.write("AGENTS.md", Buffer.from("Run the tests of the caf\u00e9.", "latin1"));
  const { blocks, notices } = loadInstructions({ cwd: place.project });
  expect(blocks.map(({ text }) => text)).toEqual(["Run the tests of the caf\uFFFD."]);
  expect(notices).toEqual([expect.stringContaining(`The instructions "${path}" are not UTF-8`)]);

  place.write("AGENTS.md", new Uint8Array(32 * 1024).fill(0xe9));
  const { text = "" } = loadInstructions({ cwd: place.project }).blocks[0] ?? {};
  expect([Buffer.byteLength(text), new Set(text)]).toEqual([32 * 1024 - 2, new Set("\uFFFD")]);
});

test("what just fits is not cut", async () => {
  await using place = placeWithGit({ "AGENTS.md": `${"x".repeat(32 * 1024 - 3)}€` });
  const { blocks, notices } = loadInstructions({ cwd: place.project });
  expect(blocks[0]?.text).toEndWith("x€");
  expect(notices).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)("a repository that another user put above the cwd instructs nobody", async () => {
  await using place = makePlace({ ".git/HEAD": "", "AGENTS.md": "evil", "mine/AGENTS.md": "mine" });
  chownSync(join(place.project, ".git"), 4321, 4321);
  const cwd = join(place.project, "mine");
  const { blocks, notices, repository } = loadInstructions({ cwd });
  expect(blocks.map(({ text }) => text)).toEqual(["mine"]);
  expect(notices).toEqual([`The repository "${place.project}" belongs to another user: its instructions are not read`]);
  expect(repository).toBeUndefined();

  // Whoever owns the directory that one works in may speak: a checkout that root works in, say.
  chownSync(cwd, 4321, 4321);
  expect(loadInstructions({ cwd }).repository).toBe(dirname(cwd));
});
