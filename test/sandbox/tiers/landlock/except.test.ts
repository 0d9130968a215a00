import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { everythingExcept, mostRules } from "../../../../lib/sandbox/tiers/landlock/except.ts";
import { Unavailable } from "../../../../lib/sandbox/tiers/unavailable.ts";
import { makePlace } from "../../../support/place.ts";

const files = ["a/one", "a/two", "b/deep/one", "b/deep/er/one", "b/deep/er/two", "b/two", "c"];

/** What can be read of a directory with those files in it, by names relative to it. */
async function readable({ hide, show = [] }: { hide: readonly string[]; show?: readonly string[] }) {
  await using place = makePlace(Object.fromEntries(files.map((path) => [path, ""])));
  symlinkSync("a", join(place.project, "link"));
  const within = (paths: readonly string[]) => paths.map((path) => join(place.project, path));
  const all = everythingExcept({ hide: within(hide), show: within(show) });
  const above = `${place.project}/`;
  return all.flatMap((path) => (path.startsWith(above) ? path.slice(above.length) : [])).sort();
}

describe("everything except what is hidden", () => {
  test("is everything beside the way to it, a directory as a whole", async () => {
    expect(await readable({ hide: ["b/deep/one"] })).toEqual(["a", "b/deep/er", "b/two", "c"]);
    expect(await readable({ hide: ["a"] })).toEqual(["b", "c"]);
  });

  test("is without symlinks, which would let through what they lead to", async () => {
    expect(await readable({ hide: ["a"] })).not.toContain("link");
  });

  test("comprises what is shown in it, however deep", async () => {
    expect(await readable({ hide: ["b"], show: ["b/deep/er"] })).toEqual(["a", "b/deep/er", "c"]);
    expect(await readable({ hide: ["b", "b/deep/er/one"], show: ["b/deep"] })).toEqual([
      "a",
      "b/deep/er/two",
      "b/deep/one",
      "c",
    ]);
  });

  test("is shown where it is both hidden and shown", async () => {
    expect(await readable({ hide: ["a", "c"], show: ["a"] })).toEqual(["a", "b"]);
  });

  test("is without what is shown and not there, or a symlink", async () => {
    expect(await readable({ hide: ["a", "."], show: ["link", "nothing", "c"] })).toEqual(["c"]);
  });

  test("is hidden whatever the case of its name", async () => {
    expect(await readable({ hide: ["A/ONE"] })).toEqual(["a/two", "b", "c"]);
  });

  test("keeps a place for what is hidden and not there yet", async () => {
    expect(await readable({ hide: ["a/later"] })).toEqual(["a/one", "a/two", "b", "c"]);
  });
});

test("where thousands of files lie beside a hidden one, there is no such sandbox", async () => {
  await using place = makePlace({ "many/hidden": "" });
  const hidden = join(place.project, "many/hidden");
  for (let count = 0; count < mostRules; count++) writeFileSync(join(dirname(hidden), `${count}`), "");
  expect(() => everythingExcept({ hide: [hidden], show: [] })).toThrow(Unavailable);
  mkdirSync(join(place.project, "many/hidden.d"));
  expect(() => everythingExcept({ hide: [hidden], show: [] })).toThrow(`in "${dirname(hidden)}"`);
});
