import { expect, test } from "bun:test";
import { join } from "node:path";
import { Changes } from "../../lib/engine/changes.ts";
import type { SnapshotKey } from "../../lib/worktree/record.ts";
import { makePlace, type Place } from "../support/place.ts";
import { policyOf } from "../support/policy.ts";

const live = new AbortController().signal;

function changesIn(place: Place, { temporary = place.env.TMPDIR ?? "", keep }: Options = {}) {
  const own = { look: () => {}, has: () => false };
  const searchPath = place.env.PATH ?? "";
  return new Changes({ policy: policyOf(place), searchPath, own, temporary: () => temporary, keep });
}

type Options = { temporary?: string; keep?: SnapshotKey };

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

test("where nothing can be kept the changes are told all the same", async () => {
  await using place = makePlace({ "a.txt": "one\n" });
  const snapshots = join(place.home, "file", "below");
  await Bun.write(join(place.home, "file"), "");
  await using changes = changesIn(place, { keep: { snapshots, session: "s", by: "turn", seq: 1 } });
  expect(changes.count).toBe(0);
  await changes.watch(live);
  place.write("a.txt", "two\n");
  const message = "koda session rollback --files will not restore the files of this turn: not a directory (ENOTDIR)";
  expect(await changes.collect(live)).toMatchObject([
    { type: "notice", code: "changes", message },
    { type: "diff", files: [{ path: "a.txt" }] },
  ]);
  expect(changes.count).toBe(1);
});

test("without a snapshot the turn goes on, and says that its changes are unknown", async () => {
  await using place = makePlace({ "a.txt": "one\n" });
  await using changes = changesIn(place, { temporary: join(place.write("file", ""), "below") });
  await changes.watch(live);
  place.write("a.txt", "two\n");
  const message = expect.stringMatching(/^Could not determine the changes of this turn: .*ENOTDIR/);
  expect(await changes.collect(new AbortController().signal)).toEqual([
    { type: "notice", level: "warn", code: "changes", message },
  ]);
  expect(changes.patch(live)).rejects.toThrow(/^Cannot make the patch \(--patch\): .*ENOTDIR/);
});
