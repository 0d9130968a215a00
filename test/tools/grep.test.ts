import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Backend, noCommands, unconfined } from "../../lib/sandbox/backend.ts";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { grepTool } from "../../lib/tools/grep.ts";
import { textOf } from "../support/files.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";
import { shellIn } from "../support/shell.ts";

type Options = { window?: number; rules?: Partial<Policy>; backend?: Backend };

async function grep(
  place: Place,
  input: Parameters<typeof grepTool.run>[0],
  { window = 128_000, rules = {}, backend = unconfined }: Options = {},
) {
  const policy = policyOf(place, rules);
  await using shell = shellIn(place, { policy, backend });
  const context = { policy, shell, contextWindow: window, signal: new AbortController().signal };
  const result = await grepTool.run(input, context);
  return { ...result, text: textOf(result) };
}

test("matches are grouped by file, with the numbers of their lines", async () => {
  await using place = makePlace({ "src/a.ts": "x\nfoo()\nfoo\n", "b.ts": "foo" });
  expect(await grep(place, { pattern: "foo" })).toMatchObject({
    ok: true,
    text: "b.ts\n1:foo\nsrc/a.ts\n2:foo()\n3:foo",
  });
});

test("lines around a match are marked, and gaps between them", async () => {
  await using place = makePlace({ a: "1\nfoo\n3\n4\n5\nfoo\n7\n" });
  expect((await grep(place, { pattern: "foo", context: 1 })).text).toBe("a\n1-1\n2:foo\n3-3\n--\n5-5\n6:foo\n7-7");
});

test("paths are shown as the project knows them, wherever the search began", async () => {
  await using place = makePlace({ "src/deep/a.ts": "foo\n" });
  for (const path of ["src", "src/deep/a.ts", "./src/../src/deep", join(place.project, "src")])
    expect((await grep(place, { pattern: "foo", path })).text).toBe("src/deep/a.ts\n1:foo");
  await Bun.write(join(place.home, "notes"), "foo\n");
  expect((await grep(place, { pattern: "foo", path: "~" })).text).toBe(`${place.home}/notes\n1:foo`);
});

test("only the files can be asked for, and capitals can be made not to count", async () => {
  await using place = makePlace({ a: "FOO\nfoo\n", b: "Foo", c: "x" });
  expect((await grep(place, { pattern: "foo", ignore_case: true, files_only: true })).text).toBe("a\nb");
  expect((await grep(place, { pattern: "foo", glob: "{b,c}" })).text).toBe(
    'No matches for "foo" in ".", files "{b,c}".',
  );
});

test("beyond the cap only the number of matches is told, file by file", async () => {
  await using place = makePlace({ a: "foo\n".repeat(90), b: "foo\n".repeat(50) });
  for (let number = 0; number < 25; number++) place.write(`c${String(number).padStart(2, "0")}`, "foo");
  const { text } = await grep(place, { pattern: "foo" });
  const lines = text.split("\n");
  expect(lines).toHaveLength(103);
  expect(lines.at(-2)).toBe("10:foo");
  const others = Array.from({ length: 19 }, (_, index) => `c${String(index).padStart(2, "0")} (1)`).join(", ");
  expect(lines.at(-1)).toBe(
    `[100 of 165 matches; the others: b (40), ${others}, 6 more files; narrow the search by path, glob or pattern.]`,
  );
});

test("with much context there are fewer matches, and with a small window less of all", async () => {
  await using place = makePlace({ a: "1\n2\n3\nfoo\n5\n6\n7\n".repeat(60) });
  const { text } = await grep(place, { pattern: "foo", context: 3 });
  expect(text.split("\n").length).toBeLessThan(310);
  expect(text).toContain("[43 of 60 matches; the others: a (17); narrow");
  expect((await grep(place, { pattern: "foo" }, { window: 1000 })).text).toContain("[20 of 60 matches");
  for (let number = 10; number < 40; number++) place.write(`f${number}`, "bar");
  expect((await grep(place, { pattern: "bar", files_only: true }, { window: 1000 })).text).toContain(
    "\n[20 of 30 files: ",
  );
});

test("of a long line the part around the match is shown", async () => {
  const filler = (length: number) => "x".repeat(length);
  await using place = makePlace({
    a: `foo${filler(500)}\n`,
    b: `${filler(500)}foo${filler(500)}\n`,
    c: `${filler(5000)}foo\n`,
    d: `${"😀".repeat(200)}foo\n`,
  });
  const [, a = "", , b = "", , c = "", , d = ""] = (await grep(place, { pattern: "foo" })).text.split("\n");
  expect(a).toMatch(/^1:foox{297}…$/);
  expect(b).toMatch(/^1:…x{100}foox{197}…$/);
  expect(c).toMatch(/^1:x{300}… \[the match is beyond character 2000\]$/);
  expect(d).toMatch(/^1:…(😀){50}foo$/u);
});

test("a bad pattern is explained, with the place and the way to mean it literally", async () => {
  await using place = makePlace();
  expect(await grep(place, { pattern: "foo(bar" })).toMatchObject({
    ok: false,
    text: "Bad pattern: unclosed group\nTo find this very text: foo\\(bar",
  });
  expect((await grep(place, { pattern: "foo[z-a]" })).text).toStartWith(
    "Bad pattern: invalid character class range, the start must be <= the end at character 5\n  foo[z-a]\n      ^\n",
  );
});

test("what is hidden is not searched, named or not", async () => {
  await using place = makePlace({ "secrets/key": "foo\n", "a/x": "foo\n" });
  const rules = { hide: [join(place.project, "secrets")] };
  expect((await grep(place, { pattern: "foo" }, { rules })).text).toBe("a/x\n1:foo");
  for (const path of ["secrets", "secrets/key"]) {
    const refused = await grep(place, { pattern: "foo", path }, { rules });
    expect(refused).toMatchObject({ ok: false, denied: expect.stringContaining("hidden") });
  }
});

test("a FIFO and a missing file are told apart", async () => {
  await using place = makePlace({ "notes.md": "" });
  expect(Bun.spawnSync(["mkfifo", join(place.project, "fifo")]).exitCode).toBe(0);
  expect((await grep(place, { pattern: "x", path: "fifo" })).text).toContain("it is a named pipe");
  expect((await grep(place, { pattern: "x", path: "notes.txt" })).text).toContain('Did you mean "notes.md"?');
});

test.each([
  { what: "in the directory itself", file: ".gitignore" },
  { what: "in one below", file: "src/deep/.gitignore" },
  { what: "in one above", file: ".gitignore", path: "src" },
  { what: "that a link leads to", file: "src/.gitignore", fifo: "fifo" },
  { what: "of the repository", file: ".git/info/exclude" },
])(
  "a FIFO $what in the place of ignore rules is named, and not waited for",
  async ({ file, path = ".", fifo = file }) => {
    await using place = makePlace({ "src/deep/a.ts": "foo\n", ".git/info/other": "" });
    expect(Bun.spawnSync(["mkfifo", join(place.project, fifo)]).exitCode).toBe(0);
    if (fifo !== file) symlinkSync(join(place.project, fifo), join(place.project, file));
    const start = performance.now();
    const { ok, text } = await grep(place, { pattern: "foo", path });
    expect(ok).toBe(false);
    expect(text).toBe(
      `Cannot search: "${join(place.project, file)}" is not a regular file, so the ignore rules in it cannot be read: remove it`,
    );
    expect(performance.now() - start).toBeLessThan(10_000);
  },
);

test("where nothing can be started it says why", async () => {
  await using place = makePlace({ a: "foo\n" });
  const { ok, text } = await grep(place, { pattern: "foo" }, { backend: noCommands(["no kernel"]) });
  expect(ok).toBe(false);
  expect(text).toBe("Cannot search: Cannot run a command: no sandbox works here. no kernel");
});

test("a glob with too many alternatives is refused", async () => {
  await using place = makePlace({ a: "foo\n" });
  const { ok, text } = await grep(place, { pattern: "foo", glob: "{a,b}".repeat(20) });
  expect(ok).toBe(false);
  expect(text).toContain("more than 1000 alternatives");
});
