import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "../../lib/sandbox/policy/policy.ts";
import { listTool } from "../../lib/tools/list.ts";
import { textOf } from "../support/files.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";

const full = 128_000;

async function list(
  place: Place,
  input: Parameters<typeof listTool.run>[0] = {},
  { window = full, rules = {} }: { window?: number; rules?: Partial<Policy> } = {},
) {
  const context = { policy: policyOf(place, rules), contextWindow: window, signal: new AbortController().signal };
  const result = await listTool.run(input, context);
  return { ...result, text: textOf(result) };
}

test("a directory is shown as a tree of two levels, without what is ignored and without .git", async () => {
  await using place = makePlace({
    ".gitignore": "out/\n",
    ".git/HEAD": "",
    ".env": "",
    "out/x": "",
    "src/a.ts": "",
    "src/deep/b.ts": "",
    "README.md": "",
  });
  mkdirSync(join(place.project, "empty"));
  expect(await list(place)).toMatchObject({
    ok: true,
    text: ".env\n.gitignore\nREADME.md\nempty/\nsrc/\n  a.ts\n  deep/",
  });
});

test("depth says how many levels are shown, and path where they begin", async () => {
  await using place = makePlace({ "src/deep/er/b.ts": "", "src/a.ts": "" });
  expect((await list(place, { depth: 1 })).text).toBe("src/");
  expect((await list(place, { path: "src", depth: 3 })).text).toBe("a.ts\ndeep/\n  er/\n    b.ts");
});

test("links, and what is neither file nor directory, are marked and left alone", async () => {
  await using place = makePlace({ "real/x": "" });
  symlinkSync("real", join(place.project, "link"));
  expect(Bun.spawnSync(["mkfifo", join(place.project, "fifo")]).exitCode).toBe(0);
  expect((await list(place)).text).toBe("fifo|\nlink@\nreal/\n  x");
});

test("a small window is shown less, upper levels first, and is told what is missing", async () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `f${String(index).padStart(2, "0")}`);
  const files = [...names(15).map((name) => `a/${name}`), ...names(3).map((name) => `b/${name}`), "c"];
  await using place = makePlace(Object.fromEntries(files.map((path) => [path, ""])));
  const { text } = await list(place, {}, { window: 1000 });
  const shown = names(15).map((name) => `  ${name}`);
  const note = "[20 of 21 entries: list a smaller directory or depth for the others.]";
  expect(text).toBe(["a/", ...shown, "b/", "  f00", "  f01", "  [1 more]", "c", note].join("\n"));
  const few = await list(place, {}, { window: 1000, rules: { hide: [join(place.project, "c")] } });
  expect(few.text).not.toContain("of 21");
});

test("a directory without room for any of its entries says how many it has", async () => {
  const files = Array.from({ length: 25 }, (_, index) => [`d${index}/x`, ""]);
  await using place = makePlace(Object.fromEntries(files));
  const { text } = await list(place, {}, { window: 1000 });
  expect(text).toContain("d0/ [1 entry]\n");
  expect(text).toContain("[5 more]\n[20 of 50 entries");
});

test("a directory with nothing to show says so", async () => {
  await using place = makePlace({ "a/.gitignore": "*\n" });
  expect((await list(place, { path: "a" })).text).toBe('Nothing in "a" that is not ignored.');
});

test("what is hidden does not appear, and cannot be listed by its name", async () => {
  await using place = makePlace({ "secrets/key": "", x: "" });
  const rules = { hide: [join(place.project, "secrets")] };
  expect((await list(place, {}, { rules })).text).toBe("x");
  const refused = await list(place, { path: "secrets" }, { rules });
  expect(refused).toMatchObject({ ok: false, denied: expect.stringContaining("hidden") });
  expect(refused.text).not.toContain("key");
  const { outside } = listTool.claim({ path: "secrets" }, { policy: policyOf(place, rules) });
  expect(outside).toContain("hidden");
});

test("a place outside of the project is listed; the kernel's own trees are not", async () => {
  await using place = makePlace();
  mkdirSync(join(place.home, "notes"));
  expect((await list(place, { path: place.home })).text).toBe("notes/");
  expect(await list(place, { path: "/proc/sys" })).toMatchObject({ ok: false });
});

test("a missing directory names what may have been meant, and a file is not listed", async () => {
  await using place = makePlace({ "library/a.ts": "" });
  expect(await list(place, { path: "libary" })).toMatchObject({
    ok: false,
    text: '"libary" does not exist. Did you mean "library"?',
  });
  expect((await list(place, { path: "library/a.ts" })).text).toBe(
    'Cannot search "library/a.ts": expected a directory, but it is a file. Use Read.',
  );
});

test("an aborted call throws the abort's reason", async () => {
  await using place = makePlace();
  const controller = new AbortController();
  const reason = new Error("enough");
  const context = { policy: policyOf(place), contextWindow: full, signal: controller.signal };
  const listing = listTool.run({}, context);
  controller.abort(reason);
  expect(await listing.catch((error) => error)).toBe(reason);
});
