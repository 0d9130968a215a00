import { expect, test } from "bun:test";
import { join } from "node:path";
import { Changes } from "../../lib/engine/changes.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";

const live = new AbortController().signal;

function changesIn(place: Place, temporary = place.env.TMPDIR ?? "") {
  const own = { look: () => {}, has: () => false };
  return new Changes({ policy: policyOf(place), searchPath: place.env.PATH ?? "", own, temporary: () => temporary });
}

test("changes are counted from the first look, and a turn that wrote nothing has none", async () => {
  await using place = makePlace({ "a.txt": "one\n" });
  await using changes = changesIn(place);
  expect(await changes.collect(new AbortController().signal)).toEqual([]);
  await changes.watch(live);
  place.write("a.txt", "two\n");
  await changes.watch(live);
  expect(await changes.collect(new AbortController().signal)).toMatchObject([
    { type: "diff", files: [{ path: "a.txt", kind: "update" }] },
  ]);
  expect(changes.paths).toEqual(["a.txt"]);
});

test("without a snapshot the turn goes on, and says that its changes are unknown", async () => {
  await using place = makePlace({ "a.txt": "one\n" });
  await using changes = changesIn(place, join(place.write("file", ""), "below"));
  await changes.watch(live);
  place.write("a.txt", "two\n");
  const message = expect.stringMatching(/^Could not determine the changes of this turn: .*ENOTDIR/);
  expect(await changes.collect(new AbortController().signal)).toEqual([
    { type: "notice", level: "warn", code: "changes", message },
  ]);
  expect(changes.patch(live)).rejects.toThrow(/^Cannot make the patch \(--patch\): .*ENOTDIR/);
});
