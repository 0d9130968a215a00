import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { globTool } from "../../lib/tools/glob.ts";
import { textOf } from "../support/files.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";

async function glob(place: Place, input: Parameters<typeof globTool.run>[0], window = 128_000) {
  const context = { policy: policyOf(place), contextWindow: window, signal: new AbortController().signal };
  const result = await globTool.run(input, context);
  return { ...result, text: textOf(result) };
}

const files = [".github/ci.yml", "a.ts", "b.md", "lib/a.ts", "lib/deep/c.ts", "lib/deep/d.tsx", "node_modules/m/x.ts"];

function makeTree(): Place {
  const place = makePlace({ ".gitignore": "node_modules/\n", ".git/config": "" });
  for (const path of files) place.write(path, "");
  return place;
}

const cases: [pattern: string, path: string | undefined, found: string[]][] = [
  ["*.ts", undefined, ["a.ts", "lib/a.ts", "lib/deep/c.ts"]],
  ["**/*.ts", undefined, ["a.ts", "lib/a.ts", "lib/deep/c.ts"]],
  ["./*.ts", undefined, ["a.ts"]],
  ["a.ts", undefined, ["a.ts", "lib/a.ts"]],
  ["lib/a.ts", undefined, ["lib/a.ts"]],
  ["lib/*.ts", undefined, ["lib/a.ts"]],
  ["lib/**", undefined, ["lib/a.ts", "lib/deep/c.ts", "lib/deep/d.tsx"]],
  ["lib/**/*.{ts,tsx}", undefined, ["lib/a.ts", "lib/deep/c.ts", "lib/deep/d.tsx"]],
  ["{lib,.github}/*", undefined, [".github/ci.yml", "lib/a.ts"]],
  ["deep/*", "lib", ["lib/deep/c.ts", "lib/deep/d.tsx"]],
  ["*.tsx", "lib", ["lib/deep/d.tsx"]],
  ["**", undefined, [".github/ci.yml", ".gitignore", ...files.slice(1, 6)]],
  ["config", undefined, []],
  ["node_modules/**/*.ts", undefined, ["node_modules/m/x.ts"]],
  ["../project/lib/*.ts", undefined, ["lib/a.ts"]],
];

test.each(cases)("%s in %p finds what it should", async (pattern, path, found) => {
  await using place = makeTree();
  const { text } = await glob(place, { pattern, ...(path !== undefined && { path }) });
  expect(text.startsWith("No files match") ? [] : text.split("\n")).toEqual(found);
});

test("a pattern may be absolute, inside and outside of the project", async () => {
  await using place = makeTree();
  expect((await glob(place, { pattern: `${place.project}/lib/*.ts` })).text).toBe("lib/a.ts");
  symlinkSync("nowhere", join(place.home, "notes.md"));
  expect((await glob(place, { pattern: `${place.home}/*.md` })).text).toBe(`${place.home}/notes.md`);
  expect((await glob(place, { pattern: "~/*.md" })).text).toBe(`${place.home}/notes.md`);
});

test("nothing found says where it was looked for, and is no failure", async () => {
  await using place = makeTree();
  expect(await glob(place, { pattern: "*.rs", path: "lib" })).toMatchObject({
    ok: true,
    text: 'No files match "*.rs" in "lib": looked at 3 files.',
  });
});

test("a small window is shown the first files by path, and how many there are", async () => {
  await using place = makePlace();
  for (let number = 10; number < 40; number++) place.write(`f${number}`, "");
  const { text } = await glob(place, { pattern: "f*" }, 1000);
  const names = Array.from({ length: 20 }, (_, index) => `f${10 + index}`);
  expect(text).toBe([...names, "[20 of 30 files: use a narrower pattern for the others.]"].join("\n"));
});

test("a directory that the pattern names and that is not there is said to be missing", async () => {
  await using place = makeTree();
  expect(await glob(place, { pattern: "libs/**/*.ts" })).toMatchObject({
    ok: false,
    text: '"libs" does not exist. Did you mean "lib"?',
  });
  expect(await glob(place, { pattern: "lib/" })).toMatchObject({ ok: false });
});

test("a hidden directory that the pattern names is refused", async () => {
  await using place = makeTree();
  const policy = policyOf(place, { hide: [join(place.project, "lib/deep")] });
  const context = { policy, contextWindow: 128_000, signal: new AbortController().signal };
  expect(textOf(await globTool.run({ pattern: "lib/**" }, context))).toBe("lib/a.ts");
  const refused = await globTool.run({ pattern: "lib/deep/*" }, context);
  expect(refused).toMatchObject({ ok: false, denied: expect.stringContaining("hidden") });
  expect(globTool.claim({ pattern: "lib/deep/*" }, { policy }).outside).toContain("hidden");
});
