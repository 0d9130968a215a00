import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findTiers } from "../../support/backends.ts";
import { programWithout } from "../../support/denied.ts";
import { answer, filesFound, linesFound, search, searchUnder } from "../../support/search.ts";
import { asNobody, letEveryoneIn } from "../../support/nobody.ts";
import { makePlace, type Place } from "../../support/place.ts";

/** Files that all contain the needle; the contents of files whose name says that they hold rules are given. */
function tree(place: Place, paths: readonly string[], rules: Record<string, string> = {}): void {
  for (const path of paths) place.write(path, "a needle here\n");
  for (const [path, content] of Object.entries(rules)) place.write(path, content);
}

type Case = { name: string; paths: string[]; rules: Record<string, string>; found: string[]; path?: string };

/** `.git/HEAD` in the rules makes the project a repository. */
const ignoring: Case[] = [
  {
    name: "a name in .gitignore is ignored at any depth",
    paths: ["build", "keep", "a/build/deep/x", "a/keep"],
    rules: { ".gitignore": "build\n" },
    found: ["a/keep", "keep"],
  },
  {
    name: "a leading slash ties a pattern to its directory",
    paths: ["out/x", "a/out/x"],
    rules: { ".gitignore": "/out\n" },
    found: ["a/out/x"],
  },
  {
    name: "an inner slash ties a pattern to its directory",
    paths: ["docs/out/x", "a/docs/out/x"],
    rules: { ".gitignore": "docs/out\n" },
    found: ["a/docs/out/x"],
  },
  {
    name: "a trailing slash ignores directories only",
    paths: ["a/tmp/x", "b/tmp"],
    rules: { ".gitignore": "tmp/\n" },
    found: ["b/tmp"],
  },
  {
    name: "a later negation brings a file back",
    paths: ["a.log", "keep.log", "sub/keep.log", "sub/b.log"],
    rules: { ".gitignore": "*.log\n!keep.log\n" },
    found: ["keep.log", "sub/keep.log"],
  },
  {
    name: "a negation brings nothing back from an ignored directory",
    paths: ["out/keep.txt", "x"],
    rules: { ".gitignore": "out/\n!out/keep.txt\n" },
    found: ["x"],
  },
  {
    name: "everything but one directory can be ignored",
    paths: ["a/x", "src/x", "src/deep/y", "top"],
    rules: { ".gitignore": "/*\n!/src/\n" },
    found: ["src/deep/y", "src/x"],
  },
  {
    name: "a nested .gitignore adds to those above",
    paths: ["a/x.tmp", "a/x.gen", "x.gen", "x.tmp"],
    rules: { ".gitignore": "*.tmp\n", "a/.gitignore": "*.gen\n" },
    found: ["x.gen"],
  },
  {
    name: "a nested .gitignore brings back a file and a whole directory",
    paths: ["a/x.tmp", "b/x.tmp", "a/gen/x", "b/gen/x"],
    rules: { ".gitignore": "*.tmp\ngen/\n", "a/.gitignore": "!x.tmp\n!gen/\n" },
    found: ["a/gen/x", "a/x.tmp"],
  },
  {
    name: "a nested pattern with a slash is tied to the nested directory",
    paths: ["out/x", "a/out/x", "a/b/out/x"],
    rules: { "a/.gitignore": "/out\n" },
    found: ["a/b/out/x", "out/x"],
  },
  {
    name: "the directory of a nested .gitignore may have special characters in its name",
    paths: ["a[1] *!/x.gen", "a[1] *!/y", "a1/x.gen"],
    rules: { "a[1] *!/.gitignore": "*.gen\n" },
    found: ["a1/x.gen", "a[1] *!/y"],
  },
  {
    name: "** stands for any number of directories",
    paths: ["a/x/y/end", "a/end", "b/end", "foo/1/2", "foo"].map((path) => (path === "foo" ? "c/foo2" : path)),
    rules: { ".gitignore": "a/**/end\nfoo/**\n" },
    found: ["b/end", "c/foo2"],
  },
  {
    name: "classes, question marks and escapes work in .gitignore",
    paths: ["a1.c", "a2.c", "ab.c", "#x", "!y", "star*", "starry"],
    rules: { ".gitignore": "a[0-9].c\n\\#x\n\\!y\nstar\\*\n" },
    found: ["ab.c", "starry"],
  },
  {
    name: "comments, empty lines, CRLF and trailing blanks in .gitignore change nothing",
    paths: ["a.tmp", "b.gen", "c"],
    rules: { ".gitignore": "# all of it\r\n\r\n*.tmp   \r\n*.gen\r\n" },
    found: ["c"],
  },
  {
    name: "capitals count in .gitignore",
    paths: ["Build/x", "build/x"],
    rules: { ".gitignore": "build/\n" },
    found: ["Build/x"],
  },
  {
    name: "the rules of a repository that are not shared count",
    paths: ["private/x", "x"],
    rules: { ".git/HEAD": "", ".git/info/exclude": "private/\n" },
    found: ["x"],
  },
  {
    name: "a .gitignore is stronger than info/exclude",
    paths: ["a.tmp", "b.tmp"],
    rules: { ".git/HEAD": "", ".git/info/exclude": "*.tmp\n", ".gitignore": "!a.tmp\n" },
    found: ["a.tmp"],
  },
  {
    name: "a nested repository has its own rules only",
    paths: ["x.tmp", "vendor/x.tmp", "vendor/x.gen"],
    rules: { ".git/HEAD": "", ".gitignore": "*.tmp\n", "vendor/.git/HEAD": "", "vendor/.gitignore": "*.gen\n" },
    found: ["vendor/x.tmp"],
  },
  {
    name: "a repository of Jujutsu is one too",
    paths: ["x.tmp", "vendor/x.tmp"],
    rules: { ".jj/repo": "", ".gitignore": "*.tmp\n.jj\n", "vendor/.jj/repo": "", "vendor/.gitignore": ".jj\n" },
    found: ["vendor/x.tmp"],
  },
  {
    name: "repositories in what is none add their rules to those around them",
    paths: ["x.tmp", "a/x.tmp", "a/x.gen", "a/keep.tmp", "a/private", "b/x.gen", "b/private"],
    rules: { ".gitignore": "*.tmp\n", "a/.git/info/exclude": "private\n", "a/.gitignore": "*.gen\n!keep.tmp\n" },
    found: ["a/keep.tmp", "b/private", "b/x.gen"],
  },
  {
    name: "a linked work tree finds the rules of its repository",
    paths: ["private/x", "x"],
    rules: {
      ".git": "gitdir: meta/worktrees/w\n",
      "meta/worktrees/w/commondir": "../..\n",
      "meta/info/exclude": "private/\n",
    },
    found: ["x"],
  },
  {
    name: "hidden files are searched, and .git is not, wherever it lies",
    paths: [".env", ".github/workflows/x.yml", ".git/config", "sub/.git/config", "sub/.hidden/.x"],
    rules: {},
    found: [".env", ".github/workflows/x.yml", "sub/.hidden/.x"],
  },
  {
    name: "only .gitignore ignores: the ignore files of other programs do not",
    paths: ["a", "b", "c"],
    rules: { ".ignore": "a\n", ".rgignore": "b\n", ".dockerignore": "c\n" },
    found: ["a", "b", "c"],
  },
  {
    name: "in a subdirectory of a repository the rules above it count",
    path: "a/b",
    paths: ["a/b/x.tmp", "a/b/out/x", "a/b/c/out/x", "a/b/y", "a/b/secret"],
    rules: { ".git/HEAD": "", ".git/info/exclude": "secret\n", ".gitignore": "*.tmp\n", "a/.gitignore": "b/out\n" },
    found: ["c/out/x", "y"],
  },
  {
    name: "in a directory that is ignored, and was named, the rules above it do not count",
    path: "node_modules/pkg",
    paths: ["node_modules/pkg/x.tmp", "node_modules/pkg/y", "node_modules/pkg/z.gen"],
    rules: { ".git/HEAD": "", ".gitignore": "node_modules/\n*.tmp\n", "node_modules/pkg/.gitignore": "*.gen\n" },
    found: ["x.tmp", "y"],
  },
];

type Globbing = { name: string; glob: string; found: string[]; path?: string };

const sources = "a.ts a.tsx b.js lib/a.ts lib/deep/c.test.ts lib/deep/d.ts docs/[x].md docs/é.md".split(" ");
const globbing: Globbing[] = [
  { name: "a name at any depth", glob: "*.ts", found: ["a.ts", "lib/a.ts", "lib/deep/c.test.ts", "lib/deep/d.ts"] },
  { name: "a whole name", glob: "a.ts", found: ["a.ts", "lib/a.ts"] },
  { name: "alternatives", glob: "*.{tsx,js}", found: ["a.tsx", "b.js"] },
  { name: "alternatives with directories", glob: "{lib,docs}/*", found: ["docs/[x].md", "docs/é.md", "lib/a.ts"] },
  { name: "any directories", glob: "lib/**/*.ts", found: ["lib/a.ts", "lib/deep/c.test.ts", "lib/deep/d.ts"] },
  { name: "all below a directory", glob: "lib/deep/**", found: ["lib/deep/c.test.ts", "lib/deep/d.ts"] },
  { name: "one directory only", glob: "lib/*.ts", found: ["lib/a.ts"] },
  { name: "from the top by ./", glob: "./*.ts", found: ["a.ts"] },
  { name: "from the top by /", glob: "/*.ts", found: ["a.ts"] },
  { name: "a class", glob: "[ab].ts", found: ["a.ts", "lib/a.ts"] },
  { name: "a negated class", glob: "[!a].*", found: ["b.js", "docs/é.md", "lib/deep/c.test.ts", "lib/deep/d.ts"] },
  { name: "one character, also outside of ASCII", glob: "?.md", found: ["docs/é.md"] },
  { name: "an escape", glob: "\\[x\\].md", found: ["docs/[x].md"] },
  { name: "an exclusion", glob: "!*.ts", found: ["a.tsx", "b.js", "docs/[x].md", "docs/é.md"] },
  {
    name: "an exclusion of a directory",
    glob: "!lib/**",
    found: ["a.ts", "a.tsx", "b.js", "docs/[x].md", "docs/é.md"],
  },
  { name: "capitals count", glob: "*.TS", found: [] },
  { name: "from where the search begins", glob: "deep/*.ts", path: "lib", found: ["deep/c.test.ts", "deep/d.ts"] },
  { name: "from the project", glob: "lib/deep/*.ts", path: "lib", found: ["deep/c.test.ts", "deep/d.ts"] },
];

type Matching = { pattern: string; ignoreCase?: boolean; lines: string[]; found: string[] };

const matching: Matching[] = [
  { pattern: "foo", lines: ["foo", "a foo b", "Foo", "fo"], found: ["foo", "a foo b"] },
  { pattern: "foo", ignoreCase: true, lines: ["foo", "FOO", "fo"], found: ["foo", "FOO"] },
  { pattern: "(?i)foo", lines: ["FOO", "fo"], found: ["FOO"] },
  { pattern: "a(?i)b|c", lines: ["aB", "AB", "C", "x"], found: ["aB", "C"] },
  { pattern: "(?i:a)b", lines: ["Ab", "AB"], found: ["Ab"] },
  { pattern: "(?s)a.c", lines: ["abc", "ac"], found: ["abc"] },
  { pattern: "straße", ignoreCase: true, lines: ["STRAßE", "STRASSE"], found: ["STRAßE"] },
  { pattern: "^foo$", lines: ["foo", "foo ", " foo"], found: ["foo"] },
  { pattern: "^$", lines: ["", "x"], found: [""] },
  { pattern: "\\bcat\\b", lines: ["a cat!", "concat", "écat", "cats"], found: ["a cat!"] },
  { pattern: "\\<cat\\>", lines: ["a cat!", "concat"], found: ["a cat!"] },
  { pattern: "^\\w+$", lines: ["naïve_1", "日本", "a-b"], found: ["naïve_1", "日本"] },
  { pattern: "^\\W$", lines: ["-", "é"], found: ["-"] },
  { pattern: "^\\d+$", lines: ["12", "١٢", "1a"], found: ["12", "١٢"] },
  { pattern: "a\\sb", lines: ["a b", "a\tb", "a\u00a0b", "ab"], found: ["a b", "a\tb", "a\u00a0b"] },
  { pattern: "^.$", lines: ["é", "😀", "ab"], found: ["é", "😀"] },
  { pattern: "^[^x]$", lines: ["😀", "x"], found: ["😀"] },
  { pattern: "\\p{Greek}", lines: ["αβγ", "abc"], found: ["αβγ"] },
  { pattern: "^\\pL\\P{Lu}$", lines: ["aB", "ab"], found: ["ab"] },
  { pattern: "^[[:alpha:]_]+[[:^digit:]]$", lines: ["ab_c", "ab9", "é"], found: ["ab_c"] },
  { pattern: "^[\\w.-]+@[a-z]+$", lines: ["a.b-c@d", "a b@d"], found: ["a.b-c@d"] },
  { pattern: "^[]a]+$", lines: ["]a", "b"], found: ["]a"] },
  { pattern: "[^[]\\]", lines: ["x]", "[]"], found: ["x]"] },
  { pattern: "^[a\\]\\\\/-]+$", lines: ["a]\\/-", "b"], found: ["a]\\/-"] },
  { pattern: "^[&~#(){}|!,:;<=>@`%*+.?]+$", lines: ["(a)", "({})|&~#", "x"], found: ["({})|&~#"] },
  { pattern: "a[^\\n]*z", lines: ["a to z", "a"], found: ["a to z"] },
  { pattern: "x{2}y{1,}z{0,1}$", lines: ["xxyz", "xyz", "xxyy"], found: ["xxyz", "xxyy"] },
  { pattern: "interface \\w+ {", lines: ["interface Foo {", "interface Foo"], found: ["interface Foo {"] },
  { pattern: "\\{\\}\\(\\)\\[\\]\\/\\-\\\"\\'\\:\\@", lines: ["{}()[]/-\"':@", "x"], found: ["{}()[]/-\"':@"] },
  { pattern: "]}", lines: ["]}", "x"], found: ["]}"] },
  { pattern: "\\x41\\u00e9\\x{1F600}", lines: ["Aé😀", "A"], found: ["Aé😀"] },
  { pattern: "a\\tb", lines: ["a\tb", "atb"], found: ["a\tb"] },
  { pattern: "(?P<x>a|b)(?:c)(?<y>d)", lines: ["acd", "bcd", "ccd"], found: ["acd", "bcd"] },
  { pattern: "(\\w)\\1", lines: ["book", "bok"], found: ["book"] },
  { pattern: "(?P<q>['\"]).*(?P=q)", lines: ["'a'", "'a\""], found: ["'a'"] },
  { pattern: "foo(?!bar)", lines: ["foobar", "foobaz"], found: ["foobaz"] },
  { pattern: "(?<=\\$)\\d+", lines: ["$12", "12"], found: ["$12"] },
  { pattern: "a+?b*?c", lines: ["aabc", "bc"], found: ["aabc"] },
  { pattern: "a|", lines: ["", "b"], found: ["", "b"] },
  { pattern: "", lines: ["", "b"], found: ["", "b"] },
  { pattern: "-e", lines: ["x -e", "e"], found: ["x -e"] },
];

/** Rules that reach into a directory from above it. */
const outside = [
  {
    name: "rules from above count below",
    path: "a",
    paths: ["a/x.tmp", "a/y", "a/b/x.tmp", "a/b/y"],
    rules: { ".gitignore": "*.tmp\n" },
    found: ["b/y", "y"],
  },
  {
    name: "rules that are tied to a directory above count below it",
    path: "a/b",
    paths: ["a/b/out/x", "a/b/c/out/x", "a/b/y"],
    rules: { ".gitignore": "/a/b/out\n", "a/.gitignore": "b/y\n" },
    found: ["c/out/x"],
  },
  {
    name: "rules below are stronger than those above",
    path: "a",
    paths: ["a/x.tmp", "a/b/x.tmp"],
    rules: { ".gitignore": "*.tmp\n", "a/b/.gitignore": "!x.tmp\n" },
    found: ["b/x.tmp"],
  },
];

const faults = [
  { pattern: "foo(", says: "unclosed group" },
  { pattern: "a[z-a]", says: "invalid character class range", at: 2 },
  { pattern: "(?<=a+)b", says: "lookbehind" },
  { pattern: "a\\nb", says: "no match spans lines" },
  { pattern: "\\Afoo\\z", says: "^ and $" },
];

const tiers = await findTiers();

/** The sandbox has no part in what ripgrep takes a pattern or a glob for. */
const [anyTier = "none"] = tiers.flatMap(([tier, missing]) => (missing === undefined ? [tier] : []));

describe("in one sandbox", () => {
  test.each(globbing)("the glob $glob selects $name", async ({ glob, found, path = "." }) => {
    await using place = makePlace();
    tree(place, sources);
    expect(await filesFound(anyTier, place, { glob, path })).toEqual(found);
  });

  test.each(matching)("$pattern matches as it should", async ({ pattern, ignoreCase = false, lines, found }) => {
    await using place = makePlace({ text: `${lines.join("\n")}\n` });
    const [file] = (await search(anyTier, place, { pattern, ignoreCase })).shown;
    expect(file?.lines.map(({ text }) => text) ?? []).toEqual(found);
  });
});

describe("ten thousand files take no more than a few seconds", () => {
  const place = makePlace({ ".gitignore": "ignored/\n" });
  afterAll(() => place[Symbol.asyncDispose]());

  // Writing that many takes longer than looking through them.
  beforeAll(() => {
    for (let directory = 0; directory < 100; directory++) {
      mkdirSync(join(place.project, `d${directory}`));
      for (let file = 0; file < 100; file++)
        writeFileSync(join(place.project, `d${directory}/f${file}.ts`), `line\nfile ${directory} ${file}\n`);
    }
  }, 30_000);

  for (const [tier, missing] of tiers)
    test.skipIf(missing !== undefined)(tier, async () => {
      const started = performance.now();
      expect(await linesFound(tier, place, { pattern: "^file 99 \\d*7$" })).toHaveLength(10);
      expect(performance.now() - started).toBeLessThan(10_000);
    });
});

for (const [tier, missing] of tiers)
  describe.skipIf(missing !== undefined)(`${tier}${missing === undefined ? "" : ` (${missing})`}`, () => {
    test.each(ignoring)("$name", async ({ paths, rules, found, path = "." }) => {
      await using place = makePlace();
      tree(place, paths, rules);
      expect(await filesFound(tier, place, { path })).toEqual(found);
    });

    test("a glob brings nothing back that is ignored", async () => {
      await using place = makePlace();
      tree(place, ["a.log", "b.log", "out/c.log"], { ".gitignore": "a.log\nout/\n" });
      expect(await filesFound(tier, place, { glob: "*.log" })).toEqual(["b.log"]);
    });

    test("results are in the order of their paths, and lines in that of the file", async () => {
      await using place = makePlace();
      tree(place, ["b", "a/z", "a-b", "a/b/c", "Z"]);
      place.write("a/z", "needle 1\nno\nneedle 2\n");
      expect(await linesFound(tier, place)).toEqual([
        "Z:1:a needle here",
        "a-b:1:a needle here",
        "a/b/c:1:a needle here",
        "a/z:1:needle 1",
        "a/z:3:needle 2",
        "b:1:a needle here",
      ]);
    });

    test("lines end in CRLF or LF, the last one in nothing", async () => {
      await using place = makePlace({ crlf: "a needle\r\nx\r\nneedle\r\n", open: "x\nneedle" });
      expect(await linesFound(tier, place, { pattern: "needle$" })).toEqual([
        "crlf:1:a needle",
        "crlf:3:needle",
        "open:2:needle",
      ]);
    });

    test("the lines around a match are told apart from it, and shown once", async () => {
      const content = ["1", "2", "needle 3", "4", "needle 5", "6", "7", "8", "9", "needle 10"].join("\n");
      await using place = makePlace({ a: content });
      expect(await linesFound(tier, place, { context: 1 })).toEqual([
        "a-2-2",
        "a:3:needle 3",
        "a-4-4",
        "a:5:needle 5",
        "a-6-6",
        "a-9-9",
        "a:10:needle 10",
      ]);
    });

    test("only as many matches as are wanted come with their text, and all are counted", async () => {
      await using place = makePlace({ a: "needle\n", b: "needle\nneedle\nneedle\n4\n5\nneedle\n", c: "needle\n" });
      const wanted = { wanted: 2, context: 2 };
      expect(await linesFound(tier, place, wanted)).toEqual(["a:1:needle", "b:1:needle", "b-2-needle", "b-3-needle"]);
      expect((await search(tier, place, wanted)).files).toEqual([
        { path: "a", count: 1 },
        { path: "b", count: 4 },
        { path: "c", count: 1 },
      ]);
      expect(await search(tier, place, { wanted: 0, context: 2 })).toMatchObject({ shown: [] });
    });

    test("the lines after the last match that is wanted are lines of context like others", async () => {
      await using place = makePlace({ a: "a\n\n12:plain\n7\n" });
      const wanted = { pattern: "^$", wanted: 1, context: 2 };
      expect(await linesFound(tier, place, wanted)).toEqual(["a-1-a", "a:2:", "a-3-12:plain", "a-4-7"]);
    });

    test("a column counts characters, and lines are cut where nobody would look", async () => {
      await using place = makePlace({
        a: `é😀needle\n`,
        b: `${"é".repeat(1000)}needle${"é".repeat(1500)}\n`,
        c: `${"x".repeat(300_000)}needle\n`,
      });
      const { shown } = await search(tier, place);
      expect(shown.map(({ lines }) => [lines[0]?.column, lines[0]?.text.length])).toEqual([
        [3, 9],
        [1000, 2000],
        [2000, 2000],
      ]);
    });

    test("a file with a NUL byte is binary, however late it comes", async () => {
      await using place = makePlace({ text: "needle\n", early: "needle\n\0\n", "a.md": "\0needle" });
      place.write("late", `needle\n${"x".repeat(70)}\n`.repeat(5000) + "\0");
      expect(await filesFound(tier, place)).toEqual(["text"]);
      expect(await filesFound(tier, place, { glob: "*.md" })).toEqual([]);
    });

    test("UTF-16 and UTF-8 with their marks are text", async () => {
      await using place = makePlace({ utf8: "\uFEFFneedle é\n" });
      place.write("utf16le", Buffer.from("\uFEFFx\nneedle é\r\n", "utf16le"));
      place.write("utf16be", Buffer.from("\uFEFFx\nneedle é\r\n", "utf16le").swap16());
      expect(await linesFound(tier, place, { pattern: "^needle é$" })).toEqual([
        "utf16be:2:needle é",
        "utf16le:2:needle é",
        "utf8:1:needle é",
      ]);
    });

    test("bytes that are no UTF-8 do not hide the rest of a line", async () => {
      await using place = makePlace();
      place.write("latin1", Buffer.from("caf\xe9 needle \xff\n", "latin1"));
      expect(await linesFound(tier, place)).toEqual(["latin1:1:caf\uFFFD needle \uFFFD"]);
    });

    test("a file and its lines can be longer than what is read at once", async () => {
      await using place = makePlace();
      place.write("long", `${"x".repeat(3_000_000)}needle\n${"y".repeat(99)}\n${"z\n".repeat(1_000_000)}needle`);
      const { files, shown } = await search(tier, place);
      expect(files).toEqual([{ path: "long", count: 2 }]);
      expect(shown[0]?.lines.map(({ number }) => number)).toEqual([1, 1_000_003]);
    });

    test("symlinks are not followed, neither to files nor to directories nor in circles", async () => {
      await using place = makePlace({ "real/file": "needle\n" });
      symlinkSync("file", join(place.project, "real/link"));
      symlinkSync("real", join(place.project, "directory"));
      symlinkSync("..", join(place.project, "real/circle"));
      symlinkSync("nowhere", join(place.project, "dangling"));
      expect(await search(tier, place)).toMatchObject({ files: [{ path: "real/file" }], unreadable: 0 });
    });

    test("a FIFO and a socket in the tree are not waited for", async () => {
      await using place = makePlace({ file: "needle\n" });
      makeFifo(join(place.project, "fifo"));
      using _socket = Bun.listen({ unix: join(place.project, "socket"), socket: { data: () => undefined } });
      expect(await filesFound(tier, place)).toEqual(["file"]);
    });

    test("hidden paths are left out, in any spelling of theirs", async () => {
      await using place = makePlace();
      tree(place, ["open", "secrets/key", "a/Private [1]/x", "a/private 2/x", ".env"]);
      const hide = ["secrets", "a/private [1]", ".env"].map((path) => join(place.project, path));
      const rules = { hide, write: [join(dirname(place.project), "tmp")] };
      expect(await filesFound(tier, place, { rules })).toEqual(["a/private 2/x", "open"]);
      const shown = { path: "secrets", rules: { ...rules, show: [join(place.project, "secrets")] } };
      expect(await filesFound(tier, place, shown)).not.toEqual([]);
      expect(await filesFound(tier, place, { path: "a", rules })).toEqual(["private 2/x"]);
    });

    test("what is put in the place of the directory meanwhile is not searched when it is hidden", async () => {
      await using place = makePlace();
      tree(place, ["src/a", "secrets/key"]);
      const at = (path: string) => join(place.project, path);
      const rules = { hide: [at("secrets")], write: [join(dirname(place.project), "tmp")] };
      expect(await filesFound(tier, place, { path: "src", rules })).toEqual(["a"]);
      const meanwhile = () => {
        renameSync(at("src"), at("moved"));
        symlinkSync("secrets", at("src"));
      };
      expect(JSON.stringify(await answer(tier, place, { path: "src", rules, meanwhile }))).not.toContain("key");
    });

    test("one file is searched by its name, whatever the rules and its name are", async () => {
      await using place = makePlace();
      tree(place, ["-a [x]*.log", "b.log", "-a [x]1.log"], { ".gitignore": "*.log\n" });
      place.write("binary", "needle\0");
      expect(await filesFound(tier, place, { file: "-a [x]*.log" })).toEqual(["-a [x]*.log"]);
      expect(await filesFound(tier, place, { file: "binary" })).toEqual([]);
    });

    test("names may hold anything a name can hold", async () => {
      await using place = makePlace();
      const names = ["-n", ":12:x", "a b", "new\nline", "é", "[glob]*", "--pre=x", "tab\t"];
      tree(place, names);
      expect(await filesFound(tier, place)).toEqual(names.sort());
      expect((await search(tier, place)).shown.map(({ path }) => path)).toEqual(names);
    });

    test("what cannot be read is counted, and the rest is found", async () => {
      await using place = makePlace({ file: "needle\n", "closed/x": "needle\n", secret: "needle\n" });
      for (const path of ["closed", "secret"]) chmodSync(join(place.project, path), 0);
      letEveryoneIn(place);
      const found = await searchUnder(asNobody, tier, place);
      expect(found).toMatchObject({ files: [{ path: "file", count: 1 }], unreadable: 2 });
    });

    test("a system without files in memory searches all the same", async () => {
      await using place = makePlace({ file: "needle\n" });
      const found = await searchUnder([programWithout({ memfd_create: 1 }, place.home)], tier, place);
      expect(found).toMatchObject({ files: [{ path: "file" }], unreadable: 0 });
    });

    test("nothing of the user's settings for ripgrep or git counts", async () => {
      await using place = makePlace({ "a.tmp": "needle\n", "b.txt": "needle\n", ".git/HEAD": "" });
      mkdirSync(join(place.home, ".config/git"), { recursive: true });
      writeFileSync(join(place.home, ".config/git/ignore"), "*.tmp\n");
      writeFileSync(join(place.home, "rc"), "--glob=!*.txt\n");
      place.env.RIPGREP_CONFIG_PATH = join(place.home, "rc");
      expect(await filesFound(tier, place)).toEqual(["a.tmp", "b.txt"]);
    });

    test("an abort ends a search at once, even while an expression backtracks for ever", async () => {
      await using place = makePlace({ a: `${"a".repeat(18)}b\n`.repeat(100_000) });
      const started = performance.now();
      const signal = AbortSignal.timeout(300);
      const searching = search(tier, place, { pattern: "(?=a)(a+)+$", signal });
      expect(await searching.catch((error) => error)).toHaveProperty("name", "TimeoutError");
      expect(performance.now() - started).toBeLessThan(5000);
    });

    test.each(outside)("without a repository $name", async ({ paths, rules, found, path }) => {
      await using place = makePlace();
      tree(place, paths, rules);
      expect(await filesFound(tier, place, { path })).toEqual(found);
    });

    test("a .gitignore above a project that is no repository does not reach into it", async () => {
      await using place = makePlace({ file: "needle\n", "a/x": "needle\n" });
      writeFileSync(join(dirname(place.project), ".gitignore"), "*\n");
      expect(await filesFound(tier, place)).toEqual(["a/x", "file"]);
      expect(await filesFound(tier, place, { path: "a" })).toEqual(["x"]);
    });

    test.each(faults)("the pattern $pattern is explained", async ({ pattern, says, at }) => {
      await using place = makePlace();
      const found = await answer(tier, place, { pattern });
      expect(found).toEqual({ fault: expect.stringContaining(says), pattern: at === undefined ? {} : { at } });
    });
  });

function makeFifo(path: string): void {
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}
